/** `lockword run --at`, and what answers as no etcd should. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { base64, endAll, etcd, program, start, until } from './etcd.js';

const header = { revision: '5', raft_term: '2' };
const found = (kvs) => ({
  header,
  succeeded: true,
  responses: [{ response_range: { header, kvs } }],
});

/** What a server says that grants each lock. */
const GOOD = {
  'lease/grant': { header, ID: '7', TTL: '2' },
  'lease/keepalive': { result: { header, ID: '7', TTL: '2' } },
  'lease/revoke': { header },
  'kv/txn': found([]),
};

let servers;
before(() => {
  etcd.folder = mkdtempSync(join(tmpdir(), 'lockword-hostile-'));
  servers = [];
});
after(() => {
  for (const server of servers) server.close();
  rmSync(etcd.folder, { recursive: true });
});
afterEach(endAll);

/**
 * A gateway. `answers` has what it says instead, by paths: text, a value for JSON, or a function
 * that gets the response. With `status` that is what such an answer has.
 */
async function gateway(answers, status = 200) {
  const server = createServer((request, response) => {
    const path = request.url.replace('/v3/', '');
    server.asked[path] = (server.asked[path] ?? 0) + 1;
    const answer = answers[path] ?? GOOD[path] ?? {};
    if (path in answers) response.statusCode = status;
    if (typeof answer === 'function') answer(response);
    else response.end(typeof answer === 'string' ? answer : JSON.stringify(answer));
  }).listen(0, '127.0.0.1');
  server.asked = {};
  servers.push(server);
  await once(server, 'listening');
  server.at = `etcd://127.0.0.1:${server.address().port}`;
  return server;
}

const lock = (server, ...args) =>
  start(program, 'run', '--at', server.at, '--ttl', '2', ...args).ended;

describe('answers that are none', function () {
  this.timeout(40_000);

  const nothing = {
    'no answer': (response) => response.destroy(),
    'a cut answer': (response) => {
      response.setHeader('Content-Length', 1000);
      response.write('{"header":{"revision":"5"');
      setTimeout(() => response.destroy(), 10);
    },
    'half of the JSON': '{"header":{"revision":"5","raft_term":"2"},"succ',
    'no JSON': '<html>Welcome</html>',
    null: 'null',
    'an object of nothing': '{}',
    'a list': '[[{"header":1}]]',
    'a text': '"header"',
    'numbers of other kinds': '{"header":[],"ID":{},"TTL":-1,"succeeded":"true"}',
    'a header alone': { header },
    'a transaction that does not say what it found': { header, succeeded: true },
    'an empty list of responses': { header, succeeded: true, responses: [] },
    'a response to something else': { header, succeeded: true, responses: [{}] },
    'a lease that ended long ago': { header, ID: '7', TTL: '-9223372036854775808' },
    'two megabytes': JSON.stringify({ ...found([]), ID: '7', TTL: '2', x: 'x'.repeat(2 ** 21) }),
    'deep JSON': '['.repeat(100_000),
  };

  for (const path of ['lease/grant', 'kv/txn'])
    it(`grant no lock: ${path}`, async () => {
      await Promise.all(
        Object.entries(nothing).map(async ([what, answer], i) => {
          const server = await gateway({ [path]: answer });
          const out = join(etcd.folder, `ran-${i}`);
          const { status, stderr } = await lock(server, '--try', 'x', 'touch', out);
          assert.equal(existsSync(out), false, what);
          assert.ok([1, 125].includes(status), `${what}: ${status}`);
          if (status === 125) assert.match(stderr, /etcd does not respond/, what);
          assert.ok(server.asked[path] < 100, `${what}: asked ${server.asked[path]} times`);
        }),
      );
    });

  it('a failure is one, though it has no field named so, as in etcd 3.6', async () => {
    await Promise.all(
      ['lease/grant', 'kv/txn'].map(async (path) => {
        const server = await gateway({ [path]: { code: 14, message: 'no leader' } }, 503);
        const { status, stderr } = await lock(server, '--try', 'x', 'true');
        assert.equal(status, 125);
        assert.match(stderr, /etcd does not respond: .*no leader/);
      }),
    );
  });

  it('a service that does not exist, or leases that never do, end the attempt', async () => {
    const none = { code: 5, message: 'no such thing' };
    await Promise.all(
      ['lease/grant', 'kv/txn'].map(async (path) => {
        const server = await gateway({ [path]: none }, 404);
        const { status, stderr } = await lock(server, 'x', 'true');
        assert.equal(status, 125);
        assert.match(stderr, /no such thing/);
        assert.ok(server.asked[path] <= 20, `asked ${server.asked[path]} times`);
      }),
    );
  });

  it('a user who may not is told so', async () => {
    const server = await gateway({ 'kv/txn': { code: 7, message: 'permission denied' } }, 403);
    const { status, stderr } = await lock(server, 'x', 'true');
    assert.equal(status, 125);
    assert.match(stderr, /Permission denied: 127.*permission denied/);
  });

  it('a watch that ends at once is not asked for again and again', async () => {
    const others = found([{ key: base64('lockword/x/1') }]);
    for (const answer of [
      '',
      '{"error":{"code":7}}\n',
      '{"result":{"canceled":true}}\n',
      'x\ny\n',
    ]) {
      const server = await gateway({ 'kv/txn': others, watch: answer });
      assert.equal((await lock(server, '-w', '1', 'x', 'true')).status, 1);
      assert.ok(server.asked.watch >= 3, `asked ${server.asked.watch} times`);
      assert.ok(server.asked.watch <= 12, `asked ${server.asked.watch} times`);
    }
  });

  it('a watch that says nothing at all does not hide that it is our turn', async () => {
    let isFree = false;
    const others = found([{ key: base64('lockword/x/1') }]);
    const server = await gateway({
      'kv/txn': (response) => response.end(JSON.stringify(isFree ? found([]) : others)),
      watch: (response) => response.write('{"result":{"created":true}}\n'),
    });
    const waiter = lock(server, 'x', 'true');
    await until(() => server.asked.watch);
    isFree = true;
    assert.equal((await waiter).status, 0);
  });

  it('a renewal that says nothing is none: the command gets its time to end', async () => {
    for (const answer of ['{}', { result: { header: { ...header, raft_term: '1' }, TTL: '2' } }]) {
      const server = await gateway({ 'lease/keepalive': answer });
      const begin = performance.now();
      const { status, stdout } = await lock(
        server,
        'x',
        'sh',
        '-c',
        `trap 'echo told; exit' TERM; while :; do sleep 0.01; done`,
      );
      assert.equal(status, 125);
      assert.equal(stdout, 'told\n');
      assert.ok(performance.now() - begin > 1000);
      assert.ok(server.asked['lease/keepalive'] < 30);
    }
  });

  it('servers that answer slowly do not hold up one that does not', async () => {
    const slow = await gateway({ 'lease/grant': () => {} });
    const quick = await gateway({});
    const begin = performance.now();
    const at = `${slow.at},${quick.at.slice('etcd://'.length)}`;
    assert.equal((await lock({ at }, '--ttl', '3600', 'x', 'true')).status, 0);
    assert.ok(performance.now() - begin < 8000);
  });
});
