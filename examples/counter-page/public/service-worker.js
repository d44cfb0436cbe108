/**
 * Adds the two headers that make a page cross-origin isolated, for hosts that cannot be told to. It
 * is asked for everything that the page loads once the page has been loaded again.
 */

const HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

async function withHeaders(request) {
  const response = await fetch(request);
  // A redirect: the browser follows it, and asks again.
  if (response.status === 0) return response;
  const { body, status, statusText } = response;
  const headers = new Headers(response.headers);
  for (const [name, value] of Object.entries(HEADERS)) headers.set(name, value);
  return new Response(body, { status, statusText, headers });
}

addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => {
  if (new URL(event.request.url).origin === location.origin)
    event.respondWith(withHeaders(event.request));
});
