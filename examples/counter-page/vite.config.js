/** Serves the page while it is worked on, and builds it as a static site. */

import { defineConfig } from 'vite';

const root = import.meta.dirname;

/** What makes a page cross-origin isolated: otherwise browsers let it share no memory. */
const HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

/**
 * Vite's own `server.headers` are not on a 304, 'not modified', and then WebKit refuses to load the
 * worker.
 */
function addHeaders({ middlewares }) {
  middlewares.use((request, response, next) => {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    next();
  });
}

/** `--mode bare` serves the page as a host does that knows nothing of all this. */
export default defineConfig(({ mode }) => ({
  root,
  // So that the site works in any folder of a host.
  base: './',
  plugins: [
    mode !== 'bare' && {
      name: 'isolation',
      configureServer: addHeaders,
      configurePreviewServer: addHeaders,
    },
  ],
  server: { fs: { allow: [`${root}/../..`] } },
  worker: { format: 'es' },
  build: { outDir: `${root}/../../build/counter-page`, emptyOutDir: true },
}));
