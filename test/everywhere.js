/**
 * everywhere.js [--docs]: how many C tests passed on which system and processor in the last `make
 * everywhere`; --docs puts the table into docs/runtimes.md, too.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const RESULTS = new URL('../build/tests.xml', import.meta.url);
const PAGE = new URL('../docs/runtimes.md', import.meta.url);
const BETWEEN = /(?<=<!-- make everywhere DOCS=1 -->\n\n).*?(?=\n\n<!-- end -->)/s;

const HEADS = ['', 'compiler', 'passed', 'without'];
const EMULATED = 'regions, waiting policy (qemu-user)';
const SUITES = {
  x86: ['Linux, 32-bit x86', 'gcc', '-'],
  musl: ['Linux, x86-64, musl, static', 'gcc', '-'],
  arm64: ['Linux, ARM64', 'clang', EMULATED],
  armhf: ['Linux, 32-bit ARM', 'clang', EMULATED],
  riscv64: ['Linux, RISC-V 64', 'clang', EMULATED],
  s390x: ['Linux, s390x (big-endian)', 'clang', EMULATED],
  posix: ['any POSIX system, here Linux', 'gcc', 'regions and event loops'],
  windows: ['Windows, x86-64', 'mingw-w64', 'regions, event loops, waiting policy (Wine)'],
  msvc: [
    "Windows, x86-64, Microsoft's ABI",
    'clang-cl',
    "all but eight of the programs; Microsoft's headers and linker (Wine)",
  ],
};

const xml = readFileSync(RESULTS, 'utf8');
const sum = (text, pattern) =>
  Array.from(text.matchAll(pattern), ([, n]) => +n).reduce((total, n) => total + n, 0);

function rowOf([suite, [title, compiler, without]]) {
  const [, status, output] =
    new RegExp(`<testcase name="${suite}".*? status="(\\w+)">(.*?)</testcase>`, 's').exec(xml) ??
    [];
  if (status === undefined || status === 'disabled') return [title, compiler, 'not run', without];
  const passed = sum(output, /\[ {2}PASSED {2}\] (\d+) test/g);
  return [title, compiler, status === 'run' ? `${passed}` : `${passed}, but FAILED`, without];
}

const rows = [HEADS, ['---', '---', '--:', '---'], ...Object.entries(SUITES).map(rowOf)];
const table = rows.map((row) => `| ${row.join(' | ')} |`).join('\n');
console.log(`\n${table}`);
const { values } = parseArgs({ options: { docs: { type: 'boolean', default: false } } });
if (values.docs) {
  const page = readFileSync(PAGE, 'utf8');
  if (!BETWEEN.test(page)) throw new Error(`no place for the table in ${PAGE.pathname}`);
  writeFileSync(
    PAGE,
    page.replace(BETWEEN, () => table),
  );
}
