/**
 * node test/clang.js COMPILE_COMMANDS: clang has no warning, with the flags of this build, about
 * the C and C++ that the build `clang` leaves out, since nothing of it is tested there. It makes no
 * objects, which would take most of the time.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** C++ as by the other compiler, where CMake leaves that to the compiler. */
const CPP = 'clang++ -std=gnu++17';
const COMPILERS = { '.c': 'clang', '.cc': CPP, '.cpp': CPP };
/** What that build has, and Relacy's programs, which take a compiler minutes. */
const LEFT_TO_OTHERS = /^(src\/(?!lease)|test\/c\/|examples\/|verify\/relacy\/|build\/)/;

const seen = new Set();
let failed = 0;
for (const { directory, command, file } of JSON.parse(readFileSync(process.argv[2], 'utf8'))) {
  const path = relative(ROOT, file);
  if (LEFT_TO_OTHERS.test(path) || seen.has(path)) continue;
  seen.add(path);
  const compiler = COMPILERS[path.match(/\.\w+$/)];
  const flags = command.replace(/^\S+/, '').replace(/ -o \S+/, '');
  const { status } = spawnSync(`${compiler} ${flags} -fsyntax-only`, {
    cwd: directory,
    shell: true,
    stdio: 'inherit',
  });
  if (status !== 0) failed++;
}
console.log(`${seen.size - failed} of ${seen.size} files have no warning`);
process.exitCode = failed === 0 && seen.size > 0 ? 0 : 1;
