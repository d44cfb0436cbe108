/** The ways in which a sample of the documentation is run: what its comment says after `run:`. */
import { execFile, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

import { build, createServer } from 'vite';

import { openBrowser, serve } from '../browsers/index.js';
import { install, RUNTIMES, SOME_NODES } from '../js/runtimes.js';
import { programsOf, ROOT } from './pages.js';

export const WORK = join(ROOT, 'build/test-docs');
const STAGE = join(WORK, 'stage');
/** Of a sample. */
const LIMIT_MS = 120_000;
const HEADERS = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};
const DEFAULT_NAMES = {
  js: 'sample.mjs',
  ts: 'sample.ts',
  c: 'sample.c',
  cpp: 'sample.cpp',
  python: 'sample.py',
  sh: 'sample.sh',
};
const C_FLAGS = '-Wall -Wextra -Wpedantic -Werror -pthread';

const execute = promisify(execFile);

/** Not the user's own. */
process.env.LOCKWORD_REGION = join(WORK, 'region');

/** Where the samples find what a user has installed: the C library, and the pinned Node. */
const env = {
  ...process.env,
  PATH: [dirname(process.execPath), join(ROOT, 'node_modules/.bin'), process.env.PATH].join(
    delimiter,
  ),
  CPATH: join(STAGE, 'include'),
  LIBRARY_PATH: join(STAGE, 'lib'),
  LD_LIBRARY_PATH: join(STAGE, 'lib'),
  PKG_CONFIG_PATH: join(STAGE, 'lib/pkgconfig'),
  PYTHONPATH: join(ROOT, 'bindings/python'),
  PYTHONDONTWRITEBYTECODE: '1',
};

export const has = (program) =>
  `${env.PATH}${delimiter}/usr/sbin`.split(delimiter).some((dir) => existsSync(join(dir, program)));

async function shell(script, cwd, timeout = LIMIT_MS) {
  const { stdout } = await execute('sh', ['-ec', script], { cwd, env, timeout });
  return stdout;
}

/**
 * What a user has before the first sample: the C library, and the packages with all that `npm pack`
 * builds.
 */
export async function prepare() {
  const built = 'tsc -p js/tsconfig.json && npm run --silent cjs && node tools/core/wasm.js wasm';
  // As long as it takes: the suite has a limit of its own.
  await shell(`make -s install PREFIX=${STAGE} >build/test-docs/install.log && ${built}`, ROOT, 0);
  await shell(`node bindings/node/build.js ${WORK}/node_modules`, ROOT, 0);
}

let folders = 0;

/** A folder with these files, in which `import 'lockword'` finds the package. Returns the paths. */
function write(files, where = '') {
  const folder = join(WORK, `${++folders}`);
  mkdirSync(join(folder, 'node_modules'), { recursive: true });
  symlinkSync(ROOT, join(folder, 'node_modules/lockword'));
  writeFileSync(join(folder, 'package.json'), '{}');
  const names = files.map(({ name, lang }) => name ?? DEFAULT_NAMES[lang]);
  for (const [i, name] of names.entries()) {
    const path = join(folder, where, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${files[i].text}\n`);
  }
  return { folder, names };
}

/**
 * On each of these runtimes; `node` stands for the oldest and the newest Node. What runs is the
 * first file of JavaScript or TypeScript, after a file of shell commands, if there is one.
 */
async function onRuntimes(files, ...names) {
  const { folder, names: paths } = write(files);
  const commands = files.find(({ lang }) => lang === 'sh');
  if (commands) await shell(commands.text, folder);
  const program = paths.find((path) => /\.[cm]?[jt]s$/.test(path));
  const all = names.flatMap((name) =>
    name === 'node' ? [SOME_NODES[0], SOME_NODES.at(-1)] : name,
  );
  const chosen = RUNTIMES.filter(({ name }) => all.includes(name));
  if (chosen.length === 0) throw new Error(`no such runtime: ${names}`);
  const outputs = [];
  for (const { name, path, options } of install(chosen)) {
    const { stdout } = await execute(path, [...options, program], {
      cwd: folder,
      timeout: LIMIT_MS,
    });
    outputs.push([name, stdout]);
  }
  return outputs;
}

/** In C or C++, by these compilers. */
async function compiled(files, standard, ...compilers) {
  const { folder, names } = write(files);
  const outputs = [];
  for (const compiler of compilers.filter(has)) {
    const sources = names.filter((name) => /\.c(pp)?$/.test(name)).join(' ');
    const libraries = '$(pkg-config --cflags --libs lockword)';
    const script = `${compiler} -std=${standard} ${C_FLAGS} ${sources} ${libraries} -o ${compiler} && ./${compiler}`;
    outputs.push([compiler, await shell(script, folder)]);
  }
  return outputs;
}

/** Through TypeScript's compiler, strictly. */
async function inTypeScript(files) {
  const { folder, names } = write(files);
  const options =
    '--strict --noEmit --target es2022 --lib es2024,esnext.disposable,dom --types "" --module nodenext';
  await shell(`tsc ${options} ${names.join(' ')}`, folder);
  return [['tsc']];
}

/** In Python. */
async function inPython(files) {
  const { folder, names } = write(files);
  return [['python3', await shell(`python3 ${names[0]}`, folder)]];
}

/** Commands of a shell, in the repository's root. */
const inShell = async ([{ text }]) => [['sh', await shell(text, ROOT)]];

async function withBrowser(url, look) {
  const browser = await openBrowser('chromium');
  try {
    await browser.goto(url);
    return await look(browser);
  } finally {
    await browser.close();
  }
}

/** As a page, built by Vite and opened in Chromium. */
async function asPage(files) {
  const { folder } = write(files);
  await build({ root: folder, configFile: false, logLevel: 'error', worker: { format: 'es' } });
  return show(join(folder, 'dist'));
}

/** What a built page shows, once that has a digit. */
async function show(site) {
  const server = await serve(site);
  try {
    const shown = () => /\d/.test(document.body.innerText) && document.body.innerText;
    return [['chromium', await withBrowser(server.url, (browser) => browser.until(shown))]];
  } finally {
    await server.close();
  }
}

/**
 * What bundles a page, in its folder, to `dist`: by what the sample says, with what these tests
 * have installed.
 */
const BUNDLERS = {
  vite: (folder) => build({ root: folder, logLevel: 'error' }),
  webpack: async (folder, { name }) => {
    const webpack = createRequire(join(ROOT, 'test/package/run.js'))('webpack');
    const { default: options } = await import(pathToFileURL(join(folder, name)));
    const compiler = webpack({ ...options, context: folder });
    const stats = await promisify(compiler.run.bind(compiler))();
    if (stats.hasErrors()) throw new Error(stats.toString('errors-warnings'));
    copyFileSync(join(folder, 'index.html'), join(folder, 'dist/index.html'));
  },
  sh: (folder, { text }) => shell(text.replaceAll('npx ', ''), folder),
};

/** The page of README.md, by a bundler as this sample has it; shown in Chromium. */
async function bundled(files, bundler) {
  const [{ files: program }] = programsOf('README.md').filter(({ run }) => run?.startsWith('page'));
  const { folder } = write([...program, ...files]);
  await BUNDLERS[bundler](folder, files[0]);
  return show(join(folder, 'dist'));
}

/** As a page that makes itself cross-origin isolated, on a server that sends no headers. */
async function isolated(files) {
  const { folder } = write(files);
  const server = await serve(folder, { isolated: false });
  try {
    await withBrowser(server.url, (browser) => browser.until(() => self.crossOriginIsolated));
    return [['chromium']];
  } finally {
    await server.close();
  }
}

/** A port that is free now. */
async function freePort() {
  const server = createHttpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Fetches until the server is up. */
async function fetchFrom(url) {
  for (let tries = 1; ; tries++) {
    try {
      return await fetch(url);
    } catch (error) {
      if (tries === 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** The headers, as they come with a file that is there and with one that is not. */
async function expectHeaders(origin) {
  for (const [path, status] of Object.entries({ '/index.html': 200, '/missing.js': 404 })) {
    const response = await fetchFrom(`${origin}${path}`);
    await response.text();
    // 403: the server's own user may not read where this repository lies.
    if (response.status !== status && response.status !== 403)
      throw new Error(`${path}: ${response.status}`);
    for (const [name, value] of Object.entries(HEADERS)) {
      if (response.headers.get(name) !== value)
        throw new Error(`${path}: ${name}: ${response.headers.get(name)}`);
    }
  }
}

/** A server's process, started with these arguments for as long as its headers are looked at. */
async function withServer(folder, port, [program, ...args], options = {}) {
  const server = spawn(program, args, {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    ...options,
  });
  const closed = once(server, 'close');
  try {
    await expectHeaders(`http://localhost:${port}`);
  } finally {
    server.kill();
    await closed;
  }
}

/** What is around a server's two lines. */
const CONFIGURATIONS = {
  nginx: (lines, folder, port) => `daemon off; pid ${folder}/pid; error_log stderr crit; events {}
    http { access_log off; server { listen 127.0.0.1:${port}; root ${folder}/public; ${lines} } }`,
  apache2: (
    lines,
    folder,
    port,
  ) => `ServerName localhost\nListen 127.0.0.1:${port}\nPidFile ${folder}/pid\nErrorLog ${folder}/log
    LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
    LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
    LoadModule headers_module /usr/lib/apache2/modules/mod_headers.so
    DocumentRoot ${folder}/public\n${lines}\n`,
};
const COMMANDS = {
  nginx: (file) => ['/usr/sbin/nginx', '-c', file],
  apache2: (file) => ['/usr/sbin/apache2', '-DFOREGROUND', '-f', file],
};

/** As what makes this server send both headers. */
async function sendsHeaders(files, server) {
  const page = { name: 'public/index.html', text: '<!doctype html>' };
  const { folder, names } = write([
    page,
    ...files.map((file) => ({ ...file, name: file.name ?? `${server}.conf` })),
  ]);
  const port = await freePort();
  if (server === 'vite') {
    const configFile = join(folder, names[1]);
    const vite = await createServer({
      root: join(folder, 'public'),
      appType: 'mpa',
      configFile,
      server: { port },
      logLevel: 'error',
    });
    await vite.listen();
    await expectHeaders(`http://localhost:${port}`).finally(() => vite.close());
  } else if (server === 'node') {
    await withServer(folder, port, [process.execPath, names[1]], { env: { ...env, PORT: port } });
  } else {
    const file = join(folder, names[1]);
    writeFileSync(file, CONFIGURATIONS[server](files[0].text, folder, port));
    await withServer(folder, port, COMMANDS[server](file));
  }
  return [[server]];
}

/**
 * By the first word of what stands after `run:`; the others are arguments. Each returns where it
 * ran, and what was printed there.
 *
 * @type {Record<string, (files: { name?: string, lang: string, text: string }[], ...args: string[])
 *   => Promise<[string, string?][]>>}
 */
export const WAYS = {
  on: onRuntimes,
  c: (files) => compiled(files, 'c11', 'gcc', 'clang'),
  cpp: (files) => compiled(files, 'c++17', 'g++', 'clang++'),
  tsc: inTypeScript,
  python: inPython,
  sh: inShell,
  page: asPage,
  bundled,
  isolated,
  headers: sendsHeaders,
};
