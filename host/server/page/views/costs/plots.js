// Plots. The library is loaded with the first of them; each has a table that says the same.
import { html, useEffect, useRef, useState } from '../../lib/html.js';
import { language, t } from '../../lib/i18n.js';
import { theme } from '../../lib/prefs.js';
import { loadScript, loadStyle } from '../../lib/script.js';
import { useSignal } from '../../lib/signal.js';

const HEIGHT = 220;

/** Draws a plot into an element whenever `inputs` change, and again with another width or other colours. */
function usePlot(make, inputs) {
  const box = useRef(null);
  const [failed, setFailed] = useState(false);
  const colours = useSignal(theme);
  useEffect(() => {
    let plot = null;
    let isGone = false;
    const media = matchMedia('(prefers-color-scheme: dark)');
    let observer = null;
    loadStyle('uplot.css');
    loadScript('uplot.js', 'uPlot').then((uPlot) => {
      if (isGone || !box.current) return;
      const draw = () => {
        plot?.destroy();
        const { options, data } = make(uPlot, paint(box.current));
        plot = new uPlot({ width: Math.max(240, box.current.clientWidth), height: HEIGHT, legend: { show: false }, ...options }, data, box.current);
      };
      draw();
      media.onchange = draw;
      observer = new ResizeObserver(() => box.current && plot?.setSize({ width: Math.max(240, box.current.clientWidth), height: HEIGHT }));
      observer.observe(box.current);
    }, () => setFailed(true));
    return () => { isGone = true; media.onchange = null; observer?.disconnect(); plot?.destroy(); };
  }, [...inputs, colours]);
  return { box, failed };
}

/** The colours of the page, as a canvas takes them. */
function paint(element) {
  const probe = document.createElement('span');
  element.append(probe);
  const resolve = (name) => {
    probe.className = name;
    return getComputedStyle(probe).backgroundColor;
  };
  const hues = Array.from({ length: 8 }, (_, n) => resolve(`hue-${n}`));
  const style = getComputedStyle(element);
  const text = style.color;
  const line = style.borderTopColor;
  const font = `12px ${style.fontFamily}`;
  probe.remove();
  return { hues, text, line, font };
}

function axes({ text, line, font }, format) {
  const base = { stroke: text, font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 } };
  return { x: { ...base, size: 28, grid: { show: false } }, y: { ...base, size: 64, values: (_, all) => all.map(format) } };
}

const dayOf = (seconds) => new Intl.DateTimeFormat(language.value, { month: 'short', day: 'numeric', timeZone: 'UTC' }).format(new Date(seconds * 1000));

/** Stacked bars by day. */
export function Bars({ dates, series, format, label }) {
  const { box, failed } = usePlot((uPlot, colours) => {
    const x = dates.map((date) => Date.parse(date) / 1000);
    // Each series is drawn up to the sum of those below it, the highest first.
    const sums = [];
    series.forEach((one, n) => sums.push(one.values.map((value, k) => value + (n ? sums[n - 1][k] : 0))));
    const bars = uPlot.paths.bars({ size: [0.7, 48] });
    const { x: xAxis, y: yAxis } = axes(colours, format);
    return {
      options: {
        scales: { x: { time: false, range: (_, from, to) => [from - 43_200, to + 43_200] }, y: { range: (_, from, to) => [0, to > 0 ? to * 1.05 : 1] } },
        axes: [{ ...xAxis, values: (_, all) => all.map(dayOf), space: 70, incrs: [86_400, 172_800, 604_800, 1_209_600, 2_592_000] }, yAxis],
        cursor: { show: false },
        series: [{}, ...sums.map((_, n) => { const k = sums.length - 1 - n; return { fill: colours.hues[k % 8], stroke: colours.hues[k % 8], width: 0, paths: bars, points: { show: false } }; })],
      },
      data: [x, ...[...sums].reverse()],
    };
  }, [dates, series, label]);
  return html`<div class="plot" role="img" aria-label=${label}><div ref=${box} class="plot-box"></div></div>
    ${failed && html`<p class="missing">${t('The plot could not be loaded.')}</p>`}
    <ul class="legend plot-legend">${series.map((one, n) => html`<li key=${n}><span class=${`swatch hue-${n % 8}`}></span>
      <bdi dir="auto">${one.name}</bdi> <b>${format(one.values.reduce((a, b) => a + b, 0))}</b></li>`)}</ul>
    <details class="plot-table"><summary>${t('As a table')}</summary><div class="scroll-x" tabindex="0" role="group" aria-label=${label}><table class="table">
      <thead><tr><th scope="col">${t('Day')}</th>${series.map((one, n) => html`<th scope="col" class="is-number" key=${n} dir="auto">${one.name}</th>`)}</tr></thead>
      <tbody>${dates.map((date, k) => html`<tr key=${date}>
        <th scope="row">${date}</th>${series.map((one, n) => html`<td class="is-number" key=${n}>${format(one.values[k])}</td>`)}</tr>`)}</tbody></table></div></details>`;
}

/** Values in their order, with those that failed marked. Points are `{value, failed}`. */
export function Points({ points, format, label }) {
  const { box } = usePlot((uPlot, colours) => {
    const { x: xAxis, y: yAxis } = axes(colours, format);
    const pick = (isFailed) => points.map((point) => (Boolean(point.failed) === isFailed ? point.value : null));
    const dots = (colour) => ({ stroke: colour, width: 0, paths: () => null, points: { show: true, size: 6, fill: colour, stroke: colour } });
    return {
      options: {
        scales: { x: { time: false }, y: { range: (_, from, to) => [0, Math.max(to, 1) * 1.08] } },
        axes: [{ ...xAxis, incrs: [1, 5, 10, 50, 100, 500, 1000] }, yAxis],
        cursor: { show: false },
        series: [{}, dots(colours.hues[0]), dots(colours.hues[4])],
      },
      data: [points.map((_, n) => n + 1), pick(false), pick(true)],
    };
  }, [points, label]);
  return html`<div class="plot" role="img" aria-label=${label}><div ref=${box} class="plot-box"></div></div>
    <ul class="legend plot-legend"><li><span class="swatch hue-0"></span>${t('answered')}</li><li><span class="swatch hue-4"></span>${t('failed')}</li></ul>`;
}
