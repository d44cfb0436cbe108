/** Plots of a run: what an uncontended pair costs, and what contended threads get done against how long the unluckiest waits. */

import { mkdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import * as vega from 'vega';
import { compile } from 'vega-lite';

/* Legible on a page of either colour: no background, middle greys for text and lines, colours neither light nor dark. */
const INK = '#808890';
const HERO = '#e4572e';
const OTHERS = ['#4c8fbd', '#3fa37b', '#9a6fc4', '#b58a2a', '#c0598f', '#5f9ea0', '#7a8a3a', '#8d7b6c'];

const config = {
  background: null,
  font: 'system-ui, sans-serif',
  view: { stroke: null },
  axis: { labelColor: INK, titleColor: INK, gridColor: INK, gridOpacity: 0.25, domainColor: INK, tickColor: INK },
  header: { labelColor: INK, titleColor: INK },
  title: { color: INK, subtitleColor: INK, anchor: 'start' },
  text: { color: INK },
};

/** lockword stands out; the others keep one colour and one shape each through all facets. */
function look(rows) {
  const domain = [...new Set(rows.map((row) => row.peer))];
  const others = domain.filter((peer) => peer !== 'lockword');
  const range = domain.map((peer) => (peer === 'lockword' ? HERO : OTHERS[others.indexOf(peer) % OTHERS.length]));
  return { field: 'peer', type: 'nominal', title: null, scale: { domain, range } };
}

/** Above this, lengths cannot be compared any more: dots on a logarithmic axis instead of bars. */
const WIDEST_RANGE = 10;

function pairs(rows, title) {
  const sorted = [...rows].sort((a, b) => a.ns - b.ns);
  const wide = sorted.at(-1).ns / sorted[0].ns > WIDEST_RANGE;
  const scale = wide ? { type: 'log' } : { zero: true };
  return {
    title: { text: title, subtitle: 'ns for one lock and unlock, and that as a multiple of the floor; less is better' },
    data: { values: rows.map((row) => ({ ...row, label: `${row.ns.toFixed(1)} ns = ${row.ratio.toFixed(2)} x` })) },
    width: 420,
    encoding: {
      y: { field: 'peer', type: 'nominal', title: null, sort: sorted.map((row) => row.peer) },
      x: { field: 'ns', type: 'quantitative', title: 'ns', scale },
    },
    layer: [
      {
        mark: wide ? { type: 'point', filled: true, size: 90, opacity: 1 } : 'bar',
        encoding: { color: { ...look(rows), legend: null } },
      },
      { mark: { type: 'text', align: 'left', dx: wide ? 8 : 4 }, encoding: { text: { field: 'label' } } },
    ],
  };
}

/** A wait shorter than this is drawn as this, for the sake of the logarithm. */
const SHORTEST_NS = 1000;

function scatter(rows, title) {
  const values = rows.map((row) => ({
    ...row,
    longest_ms: Math.max(row.longest_ns, SHORTEST_NS) / 1e6,
    cell: `${row.threads} threads, ${row.section_ns ? `${row.section_ns} ns in and out` : 'an increment'}`,
  }));
  const colour = look(rows);
  return {
    title: { text: title, subtitle: 'right and low is good: much work done, and nobody waits long' },
    data: { values },
    facet: { field: 'cell', type: 'nominal', title: null, sort: [...new Set(values.map((row) => row.cell))] },
    columns: 3,
    resolve: { scale: { x: 'independent' } },
    spec: {
      width: 210,
      height: 190,
      mark: { type: 'point', filled: true, opacity: 1 },
      encoding: {
        x: { field: 'mops', type: 'quantitative', title: 'million turns a second', scale: { zero: true } },
        y: {
          field: 'longest_ms',
          type: 'quantitative',
          scale: { type: 'log' },
          title: 'longest wait, ms (log)',
          axis: { format: '~g', tickCount: 5 },
        },
        color: { ...colour, legend: { labelColor: INK, symbolOpacity: 1 } },
        shape: { field: 'peer', type: 'nominal', title: null, scale: { domain: colour.scale.domain } },
        size: { condition: { test: "datum.peer === 'lockword'", value: 160 }, value: 70 },
      },
    },
  };
}

async function svg(spec) {
  const { spec: compiled } = compile({ ...spec, padding: 8, config });
  return new vega.View(vega.parse(compiled), { renderer: 'none' }).toSVG();
}

const contended = (rows) => rows.filter((row) => row.threads > 1 && !row.busy);

/** Draws one SVG for each subject, and answers the files written. */
export async function draw({ native, js }, folder) {
  const plots = {
    'bench-native-uncontended': pairs(native.uncontended, 'Uncontended, native'),
    'bench-native-contended': scatter(contended(native.contended), 'Contended, native'),
    'bench-js-uncontended': pairs(js.uncontended, `Uncontended, Node ${js.node}`),
    'bench-js-contended': scatter(contended(js.contended), `Contended, Node ${js.node}`),
  };
  mkdirSync(folder, { recursive: true });
  const files = [];
  for (const [name, spec] of Object.entries(plots)) {
    const file = resolve(folder, `${name}.svg`);
    writeFileSync(file, `${await svg(spec)}\n`);
    files.push(file);
  }
  return files;
}
