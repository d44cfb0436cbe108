/** `lockword run --at` and lockword/lease, and what answers as no etcd should. */

import assert from 'node:assert/strict';
import { getEventListeners, once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { asyncDispose, connect } from '../../../js/src/lease.js';
import { base64, endAll, etcd, program, start, until, user } from './etcd.js';

const header = { revision: '5', raft_term: '2' };
const found = (kvs) => ({
  header,
  succeeded: true,
  responses: [{ response_range: { header, kvs } }],
});

const joined = { header, succeeded: true, responses: [{ response_put: {} }] };

/** What a server says that grants each lock. */
/** A gateway's answer to the transaction of an unlock; GOOD stands for all others. */
const unlocking = (answer) => (response, text) =>
  text.includes('request_delete_range')
    ? answer(response)
    : response.end(JSON.stringify(found([])));

/** Whoever asks for it is too late. */
const gone = { header, responses: [{ response_range: { header } }] };

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
  const server = createServer(async (request, response) => {
    const path = request.url.replace('/v3/', '');
    server.asked[path] = (server.asked[path] ?? 0) + 1;
    const answer = answers[path] ?? GOOD[path] ?? {};
    if (path in answers) response.statusCode = status;
    if (typeof answer === 'function')
      for await (const text of request.setEncoding('utf8')) answer(response, text);
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

  it('what does not say that the line is empty is not asked again and again', async () => {
    const server = await gateway({ 'kv/txn': joined });
    await lock(server, '--timeout', '3', 'x', 'true');
    assert.ok(server.asked['kv/txn'] < 100, `asked ${server.asked['kv/txn']} times`);
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

  it('an etcd that is full, and writes nothing, costs no lease', async () => {
    let isFree = false;
    let noted = 0;
    const answer = (response, text) => {
      const isNote = text.includes('"CREATE"') && text.includes('request_put');
      noted += isNote;
      const said = isNote
        ? { code: 8, message: 'mvcc: database space exceeded' }
        : isFree
          ? found([])
          : found([{ key: base64('lockword/x/1') }]);
      isFree ||= text.includes('request_range') && !text.includes('request_put');
      response.end(JSON.stringify(said));
    };
    const server = await gateway({
      'kv/txn': answer,
      'lease/grant': { header, ID: '7', TTL: '8' },
      'lease/keepalive': { result: { header, ID: '7', TTL: '8' } },
      watch: '{"result":{"events":[{}]}}\n',
    });
    const child = start(user, server.at, 'x');
    await once(child.stdout, 'data');
    await until(() => server.asked['lease/keepalive'] > 1);
    child.stdin.end();
    const { stdout } = await child.ended;
    assert.match(stdout, /^held: 1, 5\nheld: 1\nunlocked\n$/);
    assert.ok(noted > 0 && noted < 5, `noted ${noted} times`);
  });

  it('the line may be long: times are asked for of the first ones only', async () => {
    const kvs = Array.from({ length: 200 }, (_, i) => ({
      key: base64(`lockword/x/${i}`),
      create_revision: `${i + 1}`,
      lease: `${i + 1}`,
    }));
    const times = { header, TTL: '5', grantedTTL: '10' };
    const server = await gateway({ 'kv/range': { header, kvs }, 'lease/timetolive': times });
    const { stdout, stderr } = await start(program, 'show', '--at', server.at, '--json', 'x').ended;
    const { holder, waiters } = JSON.parse(stdout || `{"stderr":${JSON.stringify(stderr)}}`);
    assert.deepEqual([holder.token, holder.leftSeconds, waiters], [1, 5, 199]);
    assert.equal(server.asked['lease/timetolive'], 16);
    assert.match((await start(program, 'break', '--at', server.at, 'x').ended).stdout, /2.5 s/);
    assert.deepEqual([server.asked['lease/timetolive'], server.asked['kv/range']], [17, 3]);
  });

  it('keys of others are no locks, and a page of none is the last', async () => {
    const kvs = ['a', 'someones/x/1'].map((key) => ({ key: base64(key), create_revision: '3' }));
    for (const page of [{ kvs }, { kvs: [], more: true }]) {
      const server = await gateway({ 'kv/range': { header, ...page } });
      const { status, stdout } = await start(program, 'list', '--at', server.at, '--json').ended;
      assert.deepEqual([status, stdout, server.asked['kv/range']], [0, '[]\n', 1]);
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

  describe('in JavaScript', () => {
    /** How an attempt failed, and after how many ms; null if it did not. */
    const attempt = (at, options) => {
      const begin = performance.now();
      return connect(at)
        .lock('x', { ttl: 2000, ...options })
        .then(
          (lease) => lease.unlock().then(() => null),
          (error) => error,
        )
        .then((error) => ({ error, ms: performance.now() - begin }));
    };
    const after = (...list) => list.map((at, i) => (i ? at.slice('etcd://'.length) : at)).join();

    for (const path of ['lease/grant', 'kv/txn'])
      it(`grant no lock, and the next server is asked: ${path}`, async () => {
        const good = await gateway({});
        await Promise.all(
          Object.entries(nothing).map(async ([what, answer]) => {
            const server = await gateway({ [path]: answer });
            const { error } = await attempt(server.at, { timeout: 0 });
            assert.equal(error?.code, 'ERR_UNREACHABLE', `${what}: ${error}`);
            assert.ok(server.asked[path] < 100, `${what}: asked ${server.asked[path]} times`);
            // On a busy machine the good one may take a while.
            const { error: none } = await attempt(after(server.at, good.at), { ttl: 20_000 });
            assert.equal(none, null, `${what}: ${none}`);
          }),
        );
      });

    it('end by the reason of a signal, whatever its code', async () => {
      const reason = Object.assign(new Error('enough'), { code: 'ERR_UNREACHABLE' });
      const others = found([{ key: base64('lockword/x/1') }]);
      const mute = (response, text) =>
        response.end(JSON.stringify(text.includes('request_put') ? joined : {}));
      for (const answers of [{ 'kv/txn': mute }, { 'kv/txn': others, watch: () => {} }]) {
        const server = await gateway(answers);
        const control = new AbortController();
        setTimeout(() => control.abort(reason), 300);
        const { error, ms } = await attempt(server.at, { signal: control.signal });
        assert.equal(error, reason);
        assert.ok(ms < 1000, `${ms} ms`);
      }
    });

    it('are not asked again and again, if they do not say that the line is empty', async () => {
      const server = await gateway({ 'kv/txn': joined });
      assert.notEqual((await attempt(server.at, { timeout: 3000 })).error, null);
      assert.ok(server.asked['kv/txn'] < 100, `asked ${server.asked['kv/txn']} times`);
    });

    it('leave one listener on a signal, however many wait by it', async () => {
      const others = found([{ key: base64('lockword/x/1') }]);
      const server = await gateway({ 'kv/txn': others, watch: () => {} });
      const control = new AbortController();
      const { signal } = control;
      const all = Array.from({ length: 20 }, () => attempt(server.at, { signal, ttl: 20_000 }));
      // A waiter that pauses before it asks again listens, too.
      const listeners = () => getEventListeners(signal, 'abort').length;
      await until(() => server.asked.watch >= 20 && listeners() === 1);
      control.abort();
      for (const { error } of await Promise.all(all)) assert.equal(error.name, 'AbortError');
      assert.equal(listeners(), 0);
    });

    it('renew nothing: the next server is asked', async () => {
      const mute = await gateway({ 'lease/keepalive': { header } });
      const good = await gateway({});
      const lease = await connect(after(mute.at, good.at)).lock('x', { ttl: 2000 });
      await until(() => good.asked['lease/keepalive'] > 1);
      assert.equal(lease.isHeld, true);
      await lease.unlock();
    });

    it('end renewals when the lease is lost', async () => {
      const server = await gateway({ 'lease/keepalive': '{}' });
      const lease = await connect(server.at).lock('x', { ttl: 2000 });
      await once(lease.lost, 'abort');
      const asked = server.asked['lease/keepalive'];
      assert.ok(asked > 0 && asked < 30, `${asked} times`);
      await sleep(500);
      assert.equal(server.asked['lease/keepalive'], asked);
    });

    it('say of whoever waited since when the lock is held, also while the lease is renewed', async () => {
      let isFree = false;
      const others = found([{ key: base64('lockword/x/1') }]);
      const values = [];
      const answer = (response, text) => {
        const [{ request_put }] = JSON.parse(text).success;
        if (request_put) values.push(JSON.parse(Buffer.from(request_put.value, 'base64')));
        response.end(JSON.stringify(request_put ? joined : isFree ? found([]) : others));
        if (!request_put && !isFree) setTimeout(() => (isFree = true), 50);
      };
      const server = await gateway({ 'kv/txn': answer, watch: '{"result":{"events":[{}]}}\n' });
      const lease = await connect(server.at).lock('x', {
        ttl: 2000,
        holder: `${'x'.repeat(79)}😀`,
      });
      await until(() => values.length === 2);
      assert.ok(values[1].held >= values[0].came);
      assert.equal(values[1].holder, `${'x'.repeat(79)}😀`);
      assert.equal(values[1].host, hostname());
      await lease.unlock();
    });

    it('an unlock whose first response was lost has done it', async () => {
      let asked = 0;
      const answer = (response) =>
        ++asked % 2 ? response.destroy() : response.end(JSON.stringify(gone));
      const server = await gateway({ 'kv/txn': unlocking(answer) });
      await (await connect(server.at).lock('x', { ttl: 2000 })).unlock();
      assert.equal(asked, 2);
      const child = start(user, server.at, 'x');
      child.stdin.end();
      assert.match((await child.ended).stdout, /\nunlocked\n$/);
      assert.equal(asked, 4);
    });

    it('an unlock that a server refused before has not done it', async () => {
      let asked = 0;
      const answer = (response) => response.end(JSON.stringify(gone), () => asked++);
      const [server, other] = [await gateway({}), await gateway({ 'kv/txn': unlocking(answer) })];
      const at = after(server.at, other.at);
      const lease = await connect(at).lock('x');
      const child = start(user, at, 'x');
      await once(child.stdout, 'data');
      server.close();
      server.closeAllConnections();
      await sleep(50); // else the request goes to a connection that is about to end
      const error = await lease.unlock().catch((error) => error);
      assert.equal(error?.code, 'ERR_LEASE_LOST');
      child.stdin.end();
      assert.match((await child.ended).stdout, /\nhad been lost\n$/);
      assert.deepEqual([asked, server.asked['lease/revoke']], [2, undefined]);
    });

    it('a second unlock waits for the first', async () => {
      let freed = false;
      const answer = (response) =>
        setTimeout(() => {
          freed = true;
          response.end(JSON.stringify(found([])));
        }, 50);
      const server = await gateway({ 'kv/txn': unlocking(answer) });
      const lease = await connect(server.at).lock('x', { ttl: 2000 });
      void lease.unlock();
      await lease.unlock();
      assert.ok(freed);
      assert.equal(lease.isHeld, false);
    });

    it('an unlock without a response does not hide what the function has returned', async () => {
      const server = await gateway({ 'kv/txn': unlocking(() => {}) });
      const cluster = connect(server.at);
      assert.equal(await cluster.runExclusive('x', () => 'done', { ttl: 2000 }), 'done');
      const lease = await cluster.lock('x', { ttl: 2000 });
      const error = await lease.unlock().catch((error) => error);
      assert.equal(error?.code, 'ERR_UNREACHABLE');
      const other = await cluster.lock('x', { ttl: 2000 });
      await other[asyncDispose]();
      assert.equal(other.isHeld, false);
    });

    it('a value of another kind is no name of a machine, and no time', async () => {
      const list = async (said) => {
        const [key, value] = ['lockword/x/1', JSON.stringify(said)].map(base64);
        const server = await gateway({ 'kv/range': { header, kvs: [{ key, value }] } });
        const [{ came, pid, host, holder }] = await connect(server.at).list('x');
        return { came, pid, host, holder };
      };
      const odd = { toString: 1, valueOf: 1 };
      const nothing = { came: 0, pid: 0, host: '' };
      for (const said of [{ came: odd, pid: [7], host: odd, holder: odd }, { came: -1 }, 7])
        assert.deepEqual(await list(said), { ...nothing, holder: JSON.stringify(said) });
      const whole = { came: 5, pid: 7, host: 'alpha', holder: 'a' };
      assert.deepEqual(await list(whole), whole);
    });

    it('whoever gives up waits for the line as long as a server or two may take', async () => {
      const others = found([{ key: base64('lockword/x/1') }]);
      const answers = { 'kv/txn': others, watch: () => {}, 'lease/revoke': () => {} };
      const server = await gateway(answers);
      const control = new AbortController();
      setTimeout(() => control.abort(new Error('enough')), 300);
      const aborted = attempt(server.at, { signal: control.signal, ttl: 8000 });
      const tried = await attempt(server.at, { timeout: 0, ttl: 8000 });
      assert.equal(tried.error.code, 'ERR_TIMEOUT');
      assert.ok(tried.ms > 1800 && tried.ms < 3500, `${tried.ms} ms`);
      const { error, ms } = await aborted;
      assert.equal(error.message, 'enough');
      assert.ok(ms > 1200 && ms < 2500, `${ms} ms`);
    });
  });
});
