/** A server of pages that share memory: they are isolated, unless that is what is to be missing. */
import { once } from 'node:events';
import { createServer } from 'node:http';

import sirv from 'sirv';

const ISOLATION = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

/**
 * Serves a folder as it is at each request, on a free port of this machine.
 *
 * @param {string} folder
 * @param {{ isolated?: boolean, receive?: (text: string) => void }} [options] `receive` hears what
 *   pages POST
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
export async function serve(folder, { isolated = true, receive = () => {} } = {}) {
  const files = sirv(folder, { dev: true });
  const server = createServer(async (request, response) => {
    if (isolated)
      for (const [name, value] of Object.entries(ISOLATION)) response.setHeader(name, value);
    if (request.method !== 'POST') return files(request, response);
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += chunk;
    response.end();
    receive(text);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: () => {
      server.close();
      server.closeAllConnections();
      return once(server, 'close');
    },
  };
}
