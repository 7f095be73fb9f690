// What runs now, whether the server is ready, and how long things take.
import { html, useCallback, useEffect, useMemo, useRef, useState } from '../../lib/html.js';
import { api, get, path, post, stream } from '../../lib/api.js';
import { onEvent } from '../../lib/events.js';
import { notify } from '../../lib/notices.js';
import { duration, number, t, tn } from '../../lib/i18n.js';
import { hrefOf } from '../../lib/route.js';
import { Button, Empty, Failure, Icon, Loaded, Meter, Others, useAction, useAsync } from '../../lib/ui.js';
import { clip, lookUp, oneLine, visible } from '../../lib/text.js';
import { Points } from './plots.js';

const REFRESH_MS = 5000;
const MAX_POINTS = 300;

export function Health() {
  return html`<div class="view-body is-wide-column"><h2 class="sr">${t('Health')}</h2>
    <div class="health-grid"><${Running} /><${Ready} /></div><${LastTurns} /><${Metrics} /></div>`;
}

function useRefresh(reload, ms) {
  useEffect(() => {
    const timer = setInterval(() => { if (!document.hidden) reload(); }, ms);
    return () => clearInterval(timer);
  }, [reload, ms]);
}

function Running() {
  const from = useAsync((signal) => get('/v1/running', { signal }), []);
  useRefresh(from.reload, REFRESH_MS);
  useEffect(() => onEvent((name) => { if (/^(turn|tool)-/.test(name)) from.reload(); }), []);
  return html`<section class="panel" aria-label=${t('Running turns')}><header class="panel-head"><h2>${t('Running turns')}</h2>
      ${from.value?.waiting > 0 && html`<span class="muted small">${tn(from.value.waiting, '{n} message waiting', '{n} messages waiting')}</span>`}</header>
    <${Loaded} from=${from} missing=${t('the list of running turns')}>${({ turns }) => (turns.length ? html`<ul class="running-list">${turns.map((turn) => html`<${Turn} key=${turn.session_id} turn=${turn} onStopped=${from.reload} />`)}</ul>`
      : html`<${Empty} title=${t('No turn runs')} />`)}</${Loaded}></section>`;
}

function Turn({ turn, onStopped }) {
  const stop = useAction(async () => {
    const { stopped } = await post(path`/v1/sessions/${turn.session_id}/stop`, {});
    notify(stopped ? t('The turn is stopped') : t('No turn runs'));
    onStopped();
  });
  return html`<li><a href=${hrefOf('talk', turn.session_id)}><${Others}>${clip(turn.session_id, 80)}</${Others}></a>
    <span class="muted small">${stageText(turn)} · ${turn.steps === null ? '' : html`${tn(turn.steps, '{n} step', '{n} steps')} · `}${t('for {time}', { time: duration(Date.now() - Date.parse(turn.since)) })}</span>
    <${Button} icon="stop" busy=${stop.isBusy} onClick=${() => stop.start()}>${t('Stop')}</${Button}></li>`;
}

function stageText(turn) {
  const texts = { prepares: t('prepares a request'), answers: t('answers'), retries: t('repeats a request'), 'calls-tool': t('calls {tool}', { tool: oneLine(turn.tool ?? t('a tool'), 60) }), elsewhere: t('runs at {worker}', { worker: oneLine(turn.worker ?? '', 60) }) };
  return lookUp(texts, turn.stage, oneLine(turn.stage ?? '', 40));
}

function Ready() {
  // Not ready is an answer with status 503 and a body, so the text is read either way.
  const from = useAsync(async (signal) => {
    const response = await fetch('/readyz', { signal, cache: 'no-store' });
    return response.json();
  }, []);
  useRefresh(from.reload, REFRESH_MS * 3);
  return html`<section class="panel" aria-label=${t('Readiness')}><header class="panel-head"><h2>${t('Readiness')}</h2></header>
    <${Loaded} from=${from}>${({ ready, reasons }) => html`<div class="pad"><p><span class=${`tag ${ready ? 'is-ok' : 'is-danger'}`}>${ready ? t('ready') : t('not ready')}</span>
      ${ready ? t('New messages are accepted and can be answered.') : t('New messages are not answered now.')}</p>
      ${reasons?.length > 0 && html`<ul class="bullets">${reasons.map((one) => html`<li key=${one.code}><span dir="auto">${visible(clip(one.message ?? '', 300))}</span> <code>${oneLine(one.code ?? '', 40)}</code></li>`)}</ul>`}</div>`}</${Loaded}></section>`;
}

/** The durations of the newest turns, from the events that the server keeps. */
function LastTurns() {
  const [points, setPoints] = useState(null);
  const all = useRef([]);
  const take = useCallback((data) => {
    all.current.push({ value: data.took_ms, failed: data.error, session: data.session_id });
    if (all.current.length > MAX_POINTS) all.current.splice(0, all.current.length - MAX_POINTS);
  }, []);
  useEffect(() => {
    let timer = null;
    const settle = () => {
      clearTimeout(timer);
      timer = setTimeout(() => { close(); setPoints([...all.current]); }, 700);
    };
    // The events that are kept come at once; later ones come over the stream that all pages share.
    const close = stream('/v1/events?after=0', { onEvent: (name, data) => { if (name === 'turn-ends') take(data); settle(); }, onState: (state) => { if (state === 'missing') setPoints([]); } });
    const end = onEvent((name, data) => { if (name === 'turn-ends') { take(data); setPoints([...all.current]); } });
    return () => { clearTimeout(timer); close(); end(); };
  }, []);
  return html`<section class="panel" aria-label=${t('The last turns')}><header class="panel-head"><h2>${t('The last turns')}</h2>${points?.length > 0 && html`<span class="muted small">${tn(points.length, '{n} turn', '{n} turns')} · ${tn(points.filter((point) => point.failed).length, '{n} failed', '{n} failed')}</span>`}</header>
    ${points === null ? null : points.length ? html`<${Points} points=${points} format=${(ms) => duration(ms)} label=${t('Duration of the last turns')} />` : html`<p class="muted pad">${t('No turn has ended since the server started.')}</p>`}</section>`;
}

/** Samples of a text in the format of Prometheus. */
export function parseMetrics(text) {
  const samples = [];
  for (const line of text.split('\n')) {
    const found = /^([a-z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/i.exec(line);
    if (!found || line.startsWith('#')) continue;
    const labels = Object.fromEntries([...(found[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, value]) => [key, value.replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c))]));
    samples.push({ name: found[1], labels, value: Number(found[3]) });
  }
  return samples;
}

function Metrics() {
  const from = useAsync(async (signal) => parseMetrics(await api('GET', '/metrics', undefined, { signal, as: 'text', headers: { Accept: 'text/plain' } })), []);
  useRefresh(from.reload, REFRESH_MS * 2);
  return html`<${Loaded} from=${from} missing=${t('metrics')}>${(samples) => html`<${Stages} samples=${samples} />
    <section class="panel" aria-label=${t('Counters')}><header class="panel-head"><h2>${t('Counters')}</h2><span class="muted small">${t('since the server started')}</span></header>
      ${from.error && html`<${Failure} error=${from.error} retry=${from.reload} />`}
      <div class="scroll-x" tabindex="0" role="group" aria-label=${t('Counters')}><table class="table"><thead><tr><th scope="col">${t('Name')}</th><th scope="col">${t('Labels')}</th><th scope="col" class="is-number">${t('Value')}</th></tr></thead><tbody>${samples.filter((one) => !/^bub_hook_/.test(one.name)).slice(0, 200).map((one, n) => html`<tr key=${n}><th scope="row"><code>${clip(one.name, 60)}</code></th>
        <td><${Others}>${clip(Object.entries(one.labels).map(([key, value]) => `${key}: ${value}`).join(', '), 120)}</${Others}></td><td class="is-number">${number(one.value, { maximumFractionDigits: 3 })}</td></tr>`)}</tbody></table></div></section>`}</${Loaded}>`;
}

function Stages({ samples }) {
  const hooks = useMemo(() => {
    const sums = new Map();
    for (const { name, labels, value } of samples) {
      const key = lookUp({ bub_hook_calls_total: 'calls', bub_hook_seconds_total: 'seconds', bub_hook_faults_total: 'faults' }, name);
      if (!key) continue;
      const sum = sums.get(labels.hook) ?? { calls: 0, seconds: 0, faults: 0 };
      sum[key] += value;
      sums.set(labels.hook, sum);
    }
    return [...sums].filter(([, sum]) => sum.calls).sort((a, b) => b[1].seconds - a[1].seconds);
  }, [samples]);
  if (!hooks.length) return null;
  const most = Math.max(...hooks.map(([, sum]) => sum.seconds), 1e-9);
  return html`<section class="panel" aria-label=${t('Time by hook')}><header class="panel-head"><h2>${t('Time by hook')}</h2><span class="muted small">${t('in plugins, since the server started')}</span></header>
    <div class="scroll-x" tabindex="0" role="group" aria-label=${t('Time by hook')}><table class="table"><thead><tr><th scope="col">${t('Hook')}</th><th scope="col" class="is-share"><span class="sr">${t('Share')}</span></th><th scope="col" class="is-number">${t('Time')}</th><th scope="col" class="is-number">${t('Calls')}</th><th scope="col" class="is-number">${t('Time each')}</th><th scope="col" class="is-number">${t('Faults')}</th></tr></thead>
    <tbody>${hooks.map(([hook, sum]) => html`<tr key=${hook}><th scope="row"><${Others}>${clip(hook ?? '', 60)}</${Others}></th><td class="is-share"><${Meter} value=${sum.seconds} limit=${most} isShare label=${t('Share of {name}', { name: oneLine(hook ?? '', 40) })} /></td>
      <td class="is-number">${duration(sum.seconds * 1000)}</td><td class="is-number">${number(sum.calls)}</td><td class="is-number">${duration((sum.seconds * 1000) / sum.calls)}</td><td class=${`is-number ${sum.faults ? 'is-error' : ''}`}>${sum.faults ? html`<${Icon} name="warn" /> ` : ''}${number(sum.faults)}</td></tr>`)}</tbody></table></div></section>`;
}
