/**
 * Plots of a run, each in light and in dark: what an uncontended pair costs, what contended threads
 * get done against how long the unluckiest of them waits, how unevenly turns are shared out, how
 * long it takes to wake an event loop, and what simulated machines with many CPUs show.
 */

import * as vega from 'vega';
import { compile } from 'vega-lite';
import {
  busy,
  cellsOf,
  frontier,
  heldFor,
  HERO,
  isFloor,
  quiet,
  several,
  unique,
} from './cells.js';

const THEMES = {
  light: {
    page: '#ffffff',
    ink: '#1f2328',
    faint: '#59636e',
    grid: '#d1d9e0',
    floor: '#a5aeb8',
    hero: '#d9480f',
  },
  dark: {
    page: '#0d1117',
    ink: '#e6edf3',
    faint: '#9198a1',
    grid: '#3d444d',
    floor: '#656c76',
    hero: '#ff7b3d',
  },
};

/** One colour and one shape each, the same in all plots. */
const PEERS = {
  lockword: { shape: 'circle' },
  parking_lot: { light: '#bf3989', dark: '#e275ad', shape: 'diamond' },
  'Rust std': { light: '#9a6700', dark: '#d4a72c', shape: 'triangle-up' },
  pthread_mutex: { light: '#0969da', dark: '#58a6ff', shape: 'square' },
  'C11 mtx': { light: '#54aeff', dark: '#a5d6ff', shape: 'cross' },
  nsync: { light: '#1a7f37', dark: '#4ac26b', shape: 'triangle-down' },
  'absl::Mutex': { light: '#8250df', dark: '#b794f6', shape: 'triangle-right' },
  'test-and-set': { light: '#1a7f37', dark: '#4ac26b', shape: 'triangle-down' },
  MCS: { light: '#8250df', dark: '#b794f6', shape: 'triangle-right' },
  'hand-written 0/1/2': { light: '#0969da', dark: '#58a6ff', shape: 'square' },
  multithreading: { light: '#1a7f37', dark: '#4ac26b', shape: 'triangle-down' },
};
const UNKNOWN = { light: '#59636e', dark: '#9198a1', shape: 'triangle-left' };

const colourOf = (peer, theme) =>
  peer === HERO ? THEMES[theme].hero : (PEERS[peer] ?? UNKNOWN)[theme];

function config(theme) {
  const { page, ink, faint, grid } = THEMES[theme];
  return {
    aria: false, // the page's alt text says it
    background: page,
    padding: 16,
    font: "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif",
    view: { stroke: grid },
    axis: {
      labelColor: faint,
      titleColor: faint,
      gridColor: grid,
      gridOpacity: 0.6,
      domain: false,
      tickColor: grid,
      labelFontSize: 11,
    },
    axisY: { titleFontWeight: 'normal' },
    axisX: { titleFontWeight: 'normal' },
    header: { labelColor: ink, titleColor: ink, labelFontSize: 12, labelFontWeight: 'bold' },
    title: {
      color: ink,
      subtitleColor: faint,
      anchor: 'start',
      fontSize: 16,
      subtitleFontSize: 12,
      subtitlePadding: 6,
      subtitleLineHeight: 16,
      offset: 14,
    },
    legend: {
      symbolOpacity: 1,
      labelLimit: 240,
      labelColor: ink,
      labelFontSize: 12,
      symbolSize: 90,
      orient: 'top',
      direction: 'horizontal',
      columns: 0,
      offset: 12,
    },
    text: { color: ink, fontSize: 11 },
  };
}

/** A field of the rows, as an axis or a facet. */
const encodedAs = (type) => (field, title, more) => ({ field, type, title, ...more });
const [nominal, ordinal, quantitative] = ['nominal', 'ordinal', 'quantitative'].map(encodedAs);

/** The peers that are drawn, in the order of PEERS, and then those that are not known there. */
function domainOf(rows) {
  const present = new Set(rows.map((row) => row.peer));
  return [
    ...Object.keys(PEERS).filter((peer) => present.has(peer)),
    ...[...present].filter((peer) => !(peer in PEERS)),
  ];
}

function looks(rows, theme) {
  const domain = domainOf(rows);
  return {
    color: nominal('peer', null, {
      scale: { domain, range: domain.map((peer) => colourOf(peer, theme)) },
    }),
    shape: nominal('peer', null, {
      scale: { domain, range: domain.map((peer) => (PEERS[peer] ?? UNKNOWN).shape) },
    }),
  };
}

const AS_TIME =
  "datum.value >= 1e6 ? datum.value / 1e6 + ' ms' : datum.value >= 1e3 ? datum.value / 1e3 + ' µs' : datum.value + ' ns'";
const POWERS_OF_TEN = Array.from({ length: 12 }, (_, power) => 10 ** power);

/** The powers of ten around all values. */
function decades(values) {
  const logs = values.filter((value) => value > 0).map(Math.log10);
  return [10 ** Math.floor(Math.min(...logs)), 10 ** Math.ceil(Math.max(...logs))];
}

const grid = (rows, unit) => ({
  row: nominal('held', null, {
    sort: unique(rows.map((row) => heldFor(row.section_ns))),
    header: {
      labelAngle: -90,
      labelAlign: 'center',
      labelBaseline: 'bottom',
      labelExpr: "'held for ' + datum.value",
    },
  }),
  column: ordinal('threads', null, { header: { labelExpr: `datum.value + ' ${unit}'` } }),
});

/**
 * Turns against the longest wait, a panel for each cell, with the line of those that no other beats
 * in both.
 */
function frontiers(rows, gaps, title, unit, theme) {
  const waits = decades([...rows, ...gaps].map((row) => row.longest_ns));
  const most = Math.max(...rows.map((row) => row.ratio)) * 1.06;
  const values = rows.map((row) => ({ ...row, held: heldFor(row.section_ns), kind: 'peer' }));
  for (const { rows: cell, threads, section_ns } of cellsOf(rows)) {
    const place = { threads, held: heldFor(section_ns), kind: 'front' };
    const corners = frontier(cell);
    const steps = [
      { ratio: 0, longest_ns: corners[0].longest_ns },
      ...corners,
      { ratio: corners.at(-1).ratio, longest_ns: waits[1] },
    ];
    steps.forEach(({ ratio, longest_ns }, order) =>
      values.push({ ...place, ratio, longest_ns, order }),
    );
    const gap = gaps.find((row) => row.threads === threads && row.section_ns === section_ns);
    if (gap) values.push({ ...place, kind: 'gap', longest_ns: gap.longest_ns });
  }
  const { page, ink, faint } = THEMES[theme];
  const x = quantitative('ratio', 'turns, as a multiple of lockword’s', {
    scale: { domain: [0, most] },
    axis: { tickCount: 5, format: '~g' },
  });
  const y = quantitative('longest_ns', 'longest wait', {
    scale: { type: 'log', domain: waits },
    axis: { values: POWERS_OF_TEN, labelExpr: AS_TIME },
  });
  const points = (test, size) => ({
    transform: [{ filter: `datum.kind === 'peer' && ${test}` }],
    mark: { type: 'point', filled: true, opacity: 1, stroke: page, strokeWidth: 1, size },
    encoding: { x, y, ...looks(rows, theme) },
  });
  const columns = unique(rows.map((row) => row.threads)).length;
  return {
    title: {
      text: title,
      subtitle: [
        'To the right: more turns. Down: the unluckiest thread waits less.',
        'The stepped line is the frontier: nobody beats those on it in both.',
        ...(gaps.length
          ? ['Dashed: the longest time for which the machine stopped a thread that took no lock.']
          : []),
      ],
    },
    data: { values },
    facet: grid(rows, unit),
    spec: {
      width: Math.floor(780 / columns) - 20,
      height: 150,
      layer: [
        {
          transform: [{ filter: "datum.kind === 'front'" }],
          mark: {
            type: 'line',
            interpolate: 'step-after',
            color: ink,
            opacity: 0.45,
            strokeWidth: 1.5,
          },
          encoding: { x, y, order: { field: 'order', type: 'quantitative' } },
        },
        {
          transform: [{ filter: "datum.kind === 'gap'" }],
          mark: { type: 'rule', color: faint, strokeDash: [4, 4], strokeWidth: 1 },
          encoding: { y },
        },
        points(`datum.peer !== '${HERO}'`, 75),
        points(`datum.peer === '${HERO}'`, 170),
      ],
    },
  };
}

/** Turns of the luckiest thread for each of the unluckiest's, by the number of threads. */
function shares(rows, title, unit, theme) {
  const sections = unique(rows.map((row) => row.section_ns));
  const { faint } = THEMES[theme];
  const x = ordinal('threads', unit, { axis: { labelAngle: 0, grid: false } });
  const y = quantitative('share', 'share', {
    scale: { type: 'log', domain: [1, decades(rows.map((row) => row.share))[1]] },
    axis: { values: POWERS_OF_TEN, format: '~s' },
  });
  const layer = (test, type, mark) => ({
    transform: [{ filter: test }],
    mark: { type, opacity: 1, ...mark },
    encoding: {
      x,
      y,
      ...(type === 'line' ? { color: looks(rows, theme).color } : looks(rows, theme)),
    },
  });
  const others = `datum.peer && datum.peer !== '${HERO}'`;
  const hero = `datum.peer === '${HERO}'`;
  return {
    title: {
      text: title,
      subtitle: 'Turns of the luckiest thread for each of the unluckiest’s. 1 is fair; dashed: 3.',
    },
    data: { values: rows.map((row) => ({ ...row, held: heldFor(row.section_ns) })) },
    facet: {
      column: nominal('held', null, {
        sort: sections.map(heldFor),
        header: { labelExpr: "'held for ' + datum.value" },
      }),
    },
    spec: {
      width: Math.floor(780 / sections.length) - 20,
      height: 200,
      layer: [
        { mark: { type: 'rule', color: faint, strokeDash: [4, 4] }, encoding: { y: { datum: 3 } } },
        layer(others, 'line', { strokeWidth: 1.2, opacity: 0.7 }),
        layer(others, 'point', { filled: true, size: 55 }),
        layer(hero, 'line', { strokeWidth: 2.5 }),
        layer(hero, 'point', { filled: true, size: 120 }),
      ],
    },
  };
}

/** Above this, lengths cannot be compared any more: dots on a logarithmic axis instead of bars. */
const WIDEST_RANGE = 10;

/** Horizontal bars, the floors grey, in a panel for each of the fields. */
function bars(rows, panels, title, subtitle, theme) {
  const { floor, faint } = THEMES[theme];
  const first = panels[0].field;
  const order = [...rows]
    .sort((a, b) => isFloor(b) - isFloor(a) || a[first] - b[first])
    .map((row) => row.peer);
  const panel = ({ field, ratio, heading }, k) => {
    const longest = Math.max(...rows.map((row) => row[field]));
    const wide = longest / Math.min(...rows.map((row) => row[field])) > WIDEST_RANGE;
    const colour = { field: 'colour', type: 'nominal', scale: null, legend: null };
    const y = nominal('peer', null, {
      sort: order,
      axis: k ? null : { labelLimit: 240, ticks: false, labelPadding: 8, labelFontSize: 12 },
    });
    const scale = wide
      ? { type: 'log', domain: [decades(rows.map((row) => row[field]))[0], longest * 8] }
      : { domain: [0, longest * 1.5] };
    const x = quantitative(field, 'ns', {
      scale,
      axis: { grid: true, tickCount: 5, ...(wide && { values: POWERS_OF_TEN }) },
    });
    const floors = rows.filter(isFloor);
    return {
      title: heading ? { text: heading, fontSize: 12, anchor: 'start', offset: 6 } : undefined,
      width: panels.length > 1 ? 310 : 520,
      height: { step: 24 },
      layer: [
        {
          mark: wide
            ? { type: 'point', filled: true, size: 110, opacity: 1 }
            : { type: 'bar', height: 15, cornerRadiusEnd: 2 },
          encoding: { y, x, color: colour },
        },
        {
          data: { values: floors },
          mark: { type: 'rule', color: faint, strokeDash: [3, 3] },
          encoding: { x },
        },
        {
          transform: [
            {
              calculate: `format(datum['${field}'], datum['${field}'] < 100 ? '.1f' : ',.0f') + ' ns · ' + format(datum['${ratio}'], datum['${ratio}'] < 10 ? '.2f' : '.0f') + '×'`,
              as: 'label',
            },
          ],
          mark: { type: 'text', align: 'left', dx: wide ? 10 : 6 },
          encoding: { y, x, text: { field: 'label' } },
        },
      ],
    };
  };
  return {
    title: { text: title, subtitle },
    data: {
      values: rows.map((row) => ({
        ...row,
        colour: isFloor(row) ? floor : colourOf(row.peer, theme),
      })),
    },
    hconcat: panels.map(panel),
    spacing: 24,
  };
}

/**
 * How long a woken event loop takes: from the median to the 99th percentile, on a logarithmic axis.
 */
function latencies(rows, title, subtitle, theme) {
  const { hero, faint } = THEMES[theme];
  const values = rows.map((row) => ({ ...row, colour: row.way.startsWith(HERO) ? hero : faint }));
  const [least, most] = decades(rows.flatMap((row) => [row.median_us, row.p99_us]));
  const x = quantitative('median_us', null, { scale: { type: 'log', domain: [least, most] } });
  const axis = {
    values: POWERS_OF_TEN,
    labelExpr: "datum.value >= 1e3 ? datum.value / 1e3 + ' ms' : datum.value + ' µs'",
  };
  const y = nominal('way', null, {
    sort: rows.map((row) => row.way),
    axis: { labelLimit: 320, ticks: false, labelPadding: 8, labelFontSize: 12 },
  });
  const color = { field: 'colour', type: 'nominal', scale: null, legend: null };
  return {
    title: { text: title, subtitle },
    data: { values },
    width: 560,
    height: { step: 28 },
    layer: [
      {
        mark: { type: 'rule', strokeWidth: 3, opacity: 0.5 },
        encoding: { y, x: { ...x, axis }, x2: { field: 'p99_us' }, color },
      },
      {
        mark: { type: 'point', filled: true, size: 110, opacity: 1 },
        encoding: { y, x: { ...x, axis }, color },
      },
      {
        mark: { type: 'tick', thickness: 3, size: 14 },
        encoding: { y, x: { ...x, field: 'p99_us', axis }, color },
      },
    ],
  };
}

/** What is simulated over the number of CPUs: a row for each measure, a column for each section. */
function curves(rows, title, theme) {
  const MEASURES = [
    ['mops', 'million turns/s', { format: '~g' }],
    ['share', 'share', { format: '~s' }],
    ['longest_ns', 'longest wait', { labelExpr: AS_TIME }],
    ['transfers', 'transfers per turn', { format: '~g' }],
  ];
  const sections = unique(rows.map((row) => row.section_ns));
  const [least, most] = [Math.min, Math.max].map((pick) => pick(...rows.map((row) => row.cpus)));
  const x = quantitative('cpus', null, {
    scale: { type: 'log', base: 2, domain: [least, most] },
    axis: { values: unique(rows.map((row) => row.cpus)), grid: false, labelOverlap: false },
  });
  const panel = ([field, name, axis], section, k, isTop) => {
    const values = rows.filter((row) => row.section_ns === section);
    const y = quantitative(field, k ? null : name, {
      scale: { type: 'log', domain: decades(values.map((row) => row[field])) },
      axis: { values: POWERS_OF_TEN, minExtent: 44, ...axis },
    });
    const encoding = { x, y, ...looks(rows, theme) };
    const layer = (isHero, size, strokeWidth) => [
      {
        transform: [{ filter: `(datum.peer === '${HERO}') === ${isHero}` }],
        mark: { type: 'line', strokeWidth },
        encoding: { x, y, color: encoding.color },
      },
      {
        transform: [{ filter: `(datum.peer === '${HERO}') === ${isHero}` }],
        mark: { type: 'point', filled: true, opacity: 1, size },
        encoding,
      },
    ];
    return {
      data: { values },
      title: isTop
        ? { text: `held for ${heldFor(section)}`, fontSize: 12, anchor: 'middle', offset: 6 }
        : undefined,
      width: 160,
      height: 120,
      layer: [...layer(false, 40, 1.2), ...layer(true, 80, 2.5)],
    };
  };
  return {
    title: { text: title, subtitle: 'Simulated, by the number of CPUs: a thread on each of them.' },
    vconcat: MEASURES.map((measure, row) => ({
      hconcat: sections.map((section, k) => panel(measure, section, k, row === 0)),
      spacing: 16,
    })),
    spacing: 12,
  };
}

/** The plots of a run, by name: a function of the theme each. */
function plots({ native, js, simulated }) {
  const family = ['recursive mutex', 'write lock', 'semaphore'];
  const many = simulated.cells.filter(
    ({ peer, cpus, sockets, threads }) =>
      sockets === 1 && threads === cpus && !family.includes(peer),
  );
  const contended = several(native.contended);
  const loaded = 'with a busy thread on each CPU';
  const both = [
    { field: 'ns', ratio: 'ratio', heading: 'nothing between' },
    { field: 'increment_ns', ratio: 'increment_ratio', heading: 'an increment between' },
  ];
  const floors = [
    'One lock and one unlock, and that as a multiple of raw cas+exchange.',
    'Less is better.',
  ];
  const handOffs = [
    'From a worker’s release to the continuation on the main thread.',
    'Dot: the median; tick: the 99th percentile. Less is better.',
  ];
  return {
    uncontended: (theme) => bars(native.uncontended, both, 'Uncontended', floors, theme),
    contended: (theme) =>
      frontiers(quiet(contended), quiet(several(native.gaps)), 'Contended', 'threads', theme),
    shares: (theme) => shares(quiet(contended), 'Who gets how much', 'threads', theme),
    busy: (theme) =>
      frontiers(busy(contended), busy(native.gaps), `Contended, ${loaded}`, 'threads', theme),
    'busy-shares': (theme) =>
      shares(busy(contended), `Who gets how much, ${loaded}`, 'threads', theme),
    simulated: (theme) => curves(many, 'On many CPUs', theme),
    'js-uncontended': (theme) =>
      bars(
        js.uncontended,
        [{ field: 'ns', ratio: 'ratio' }],
        `Uncontended, Node ${js.node.replace('v', '')}`,
        floors,
        theme,
      ),
    'js-contended': (theme) =>
      frontiers(
        quiet(several(js.contended)),
        [],
        `Contended, Node ${js.node.replace('v', '')}`,
        'workers',
        theme,
      ),
    'js-handoff': (theme) =>
      latencies(
        js.handoff,
        `Waking an event loop, Node ${js.node.replace('v', '')}`,
        handOffs,
        theme,
      ),
  };
}

async function svg(spec, theme) {
  const { spec: compiled } = compile({ ...spec, config: config(theme) });
  return `${await new vega.View(vega.parse(compiled), { renderer: 'none' }).toSVG()}\n`;
}

/** The names of the plots that a run has figures for, each with its SVG in light and in dark. */
export async function draw(figures) {
  const drawn = new Map();
  for (const [name, plot] of Object.entries(plots(figures)))
    drawn.set(name, {
      light: await svg(plot('light'), 'light'),
      dark: await svg(plot('dark'), 'dark'),
    });
  return drawn;
}
