// compare.js: the simulation of two CPUs beside the newest figures that docs/benchmarks.json has of
// a real machine with two, cell by cell: node bench/simulate/compare.js FILE, which
// lockword-simulate --json has written.
import { readFileSync } from 'node:fs';

const REFERENCE = 'lockword';

const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
const [page] = read(new URL('../../docs/benchmarks.json', import.meta.url));
const simulated = read(process.argv[2]).cells.filter((cell) => cell.cpus === 2);
const real = page.native.contended.filter((cell) => !cell.busy);

const find = (cells, { threads, section_ns }, peer) =>
  cells.find((c) => c.threads === threads && c.section_ns === section_ns && c.peer === peer);
const us = (ns) => (ns / 1e3).toFixed(0);

console.log(`Each pair: ${page.machine.cpu}, then simulated.\n`);
console.log(
  '| cell | | Mops/s | × lockword | share | longest wait, µs |\n|---|---|---|---|---|---|',
);
for (const cell of simulated) {
  const other = find(real, cell, cell.peer);
  if (!other) continue;
  const ratios = [real, simulated].map((cells, k) =>
    ([other, cell][k].mops / find(cells, cell, REFERENCE).mops).toFixed(2),
  );
  const pairs = [
    [other.mops.toPrecision(3), cell.mops.toPrecision(3)],
    ratios,
    [other.share.toFixed(1), cell.share.toFixed(1)],
    [us(other.longest_ns), us(cell.longest_ns)],
  ].map((pair) => pair.join(' / '));
  const name = `${cell.threads} threads, ${cell.section_ns} ns`;
  console.log(`| ${name} | ${cell.peer} | ${pairs.join(' | ')} |`);
}
