/**
 * Memory is shared only by pages that are cross-origin isolated, which takes two headers of the
 * server's. This makes up for a server that does not send them, and finds out what is missing where
 * that fails, too.
 */

const TRIED = 'lockword: the service worker has been tried';

/** Whether this page may share memory with workers. */
export function isIsolated() {
  const isolated = self.crossOriginIsolated && Boolean(self.SharedArrayBuffer);
  // To be tried again after a reload that goes past the service worker, as one with Shift does.
  if (isolated) sessionStorage.removeItem(TRIED);
  return isolated;
}

/**
 * Has a service worker add the headers from now on, and loads the page again. Once: if that did not
 * help, nor would a second time.
 *
 * @param {string} script
 * @returns {Promise<string>} why it cannot
 */
export async function isolate(script) {
  if (!navigator.serviceWorker)
    return 'This browser has no service workers here: perhaps the window is a private one.';
  try {
    if (sessionStorage.getItem(TRIED))
      return 'A service worker adds them, but this browser did not heed it.';
    await navigator.serviceWorker.register(script);
    await navigator.serviceWorker.ready;
    sessionStorage.setItem(TRIED, 'yes');
  } catch (error) {
    return `The service worker that adds them could not be installed: ${error.message}`;
  }
  location.reload();
  return new Promise(() => {});
}

const HEADERS = [
  ['Cross-Origin-Opener-Policy', ['same-origin']],
  ['Cross-Origin-Embedder-Policy', ['require-corp', 'credentialless']],
];

/** Which headers this page should have come with and has not. */
async function missingHeaders() {
  const { headers } = await fetch(location.href);
  const isMissing = ([name, values]) => !values.includes(headers.get(name)?.split(';')[0].trim());
  return HEADERS.filter(isMissing).map(([name, [value]]) => `${name}: ${value}`);
}

/**
 * What is missing, and what to do about it.
 *
 * @param {string} [failure] of the service worker
 * @returns {Promise<{ headers: string[], hints: string[] }>} headers that the server should send,
 *   and sentences
 */
export async function diagnose(failure) {
  const headers = await missingHeaders().catch(() => []);
  const hints = [];
  if (!self.isSecureContext) {
    hints.push(
      `The page came over plain HTTP from ${location.hostname}. Use HTTPS, or open it as localhost where it is served.`,
    );
  } else if (headers.length > 0) {
    hints.push(
      failure ??
        'Have the server send them, or serve the built site: its service worker adds them.',
    );
  }
  if (self.top !== self) {
    hints.push('The page is shown in a frame. Open it in a tab of its own.');
  }
  if (headers.length === 0 && hints.length === 0) {
    hints.push(
      'The server does what it should, so it is the browser: it is too old, or its settings forbid it.',
    );
  }
  return { headers, hints };
}
