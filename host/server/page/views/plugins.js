// Plugins: what is loaded, what it may do and what it did.
import { html, useEffect, useRef, useState } from '../lib/html.js';
import { get } from '../lib/api.js';
import { onEvent } from '../lib/events.js';
import { duration, t, tn } from '../lib/i18n.js';
import { hrefOf } from '../lib/route.js';
import { Button, Empty, Failure, Heading, Icon, Loaded, Others, useAsync } from '../lib/ui.js';
import { clip, oneLine, visible } from '../lib/text.js';
import { Add } from './plugins/add.js';
import { Plugin } from './plugins/plugin.js';
import { sourceText, sums } from './plugins/stats.js';

const REFRESH_MS = 15_000;

export default function Plugins({ route, me }) {
  const [name] = route.parts;
  const from = useAsync((signal) => get('/v1/plugins', { signal }), []);
  const [file, setFile] = useState(null);
  const [isOver, setOver] = useState(false);
  const picker = useRef(null);
  useEffect(() => onEvent((event) => { if (event === 'plugins-changed' || event === 'plugin-fault') from.reload(); }), []);
  // A server that tells no changes is asked from time to time, and when the page comes into sight again.
  useEffect(() => {
    const look = () => { if (!document.hidden) from.reload(); };
    const timer = setInterval(look, REFRESH_MS);
    document.addEventListener('visibilitychange', look);
    return () => { clearInterval(timer); document.removeEventListener('visibilitychange', look); };
  }, []);
  const canChange = !me?.scopes || me.scopes.includes('admin');

  const take = (given) => { const one = [...given][0]; if (one && canChange) setFile(one); };
  const hasFiles = (event) => canChange && event.dataTransfer?.types?.includes('Files');
  const drop = {
    onDragOver: (event) => { if (hasFiles(event)) { event.preventDefault(); setOver(true); } },
    onDragLeave: (event) => { if (!event.currentTarget.contains(event.relatedTarget)) setOver(false); },
    onDrop: (event) => { setOver(false); if (hasFiles(event)) { event.preventDefault(); take(event.dataTransfer.files); } },
  };
  const tools = canChange && html`<input ref=${picker} type="file" accept=".wasm,application/wasm" hidden onChange=${(event) => { take(event.currentTarget.files); event.currentTarget.value = ''; }} />
    <${Button} icon="plus" kind="primary" onClick=${() => picker.current.click()}>${t('Add a plugin')}</${Button}>`;
  return html`<div class=${`view plugins ${isOver ? 'is-drop' : ''}`} ...${drop}><${Heading} tools=${tools}>${t('Plugins')}</${Heading}>
    <div class=${`split ${name ? 'has-one' : ''}`}><${Loaded} from=${from}>${(value) => html`
      <div class="split-list">
        ${from.error && html`<${Failure} error=${from.error} retry=${from.reload} />`}
        <${Troubles} value=${value} />
        ${!value.plugins.length && html`<${Empty} title=${t('No plugins')}>${t('Drop a .wasm file here.')}</${Empty}>`}
        <ul class="plugin-list">${value.plugins.map((plugin) => html`<${Row} key=${plugin.name} plugin=${plugin} isCurrent=${plugin.name === name} held=${value.quarantined.filter((one) => one.plugin === plugin.name)} />`)}</ul>
        ${canChange && html`<p class="muted small pad">${t('Drop a .wasm file on this page to inspect and add it.')}</p>`}
      </div>
      <${One} value=${value} name=${name} canChange=${canChange} onChanged=${from.reload} />`}</${Loaded}></div>
    ${file && html`<${Add} file=${file} onClose=${() => setFile(null)} onDone=${from.reload} />`}
  </div>`;
}

function One({ value, name, canChange, onChanged }) {
  if (!name) return html`<div class="split-one is-empty"><${Empty} title=${t('Choose a plugin')}>${t('Its hooks, tools and grants are shown here.')}</${Empty}></div>`;
  const plugin = value.plugins.find((one) => one.name === name);
  if (!plugin) return html`<div class="split-one"><${Empty} title=${t('No plugin has this name')}><${Others}>${clip(name, 80)}</${Others}></${Empty}></div>`;
  return html`<${Plugin} key=${name} plugin=${plugin} held=${value.quarantined.filter((one) => one.plugin === name)} canChange=${canChange} onChanged=${onChanged} />`;
}

function Row({ plugin, isCurrent, held }) {
  const { calls, faults, micros } = sums(plugin.stats);
  const missing = plugin.wants.filter((want) => !want.held).length;
  return html`<li><a href=${hrefOf('plugins', plugin.name)} class=${isCurrent ? 'is-current' : ''} aria-current=${isCurrent ? 'true' : undefined}>
    <span class="plugin-name"><${Others}>${clip(oneLine(plugin.name, 60), 60)}</${Others}> <span class="muted small">${visible(clip(plugin.version ?? '', 20))}</span></span>
    <span class="plugin-tags"><span class="tag">${sourceText(plugin.source)}</span>
      ${plugin.gate && html`<span class="tag">${t('gate')}</span>`}
      ${held.length > 0 && html`<span class="tag is-danger">${t('quarantine')}</span>`}
      ${missing > 0 && html`<span class="tag is-warn">${tn(missing, '{n} grant missing', '{n} grants missing')}</span>`}</span>
    <span class="plugin-sub muted small">${calls ? html`${tn(calls, '{n} call', '{n} calls')} · ${t('{time} each', { time: duration(micros / calls / 1000) })}${faults > 0 && html` · <span class="is-error">${tn(faults, '{n} fault', '{n} faults')}</span>`}` : t('not called yet')}</span>
  </a></li>`;
}

function Troubles({ value }) {
  const { failed = [], untrusted = [], quarantined = [] } = value;
  if (!failed.length && !untrusted.length && !quarantined.length) return null;
  return html`<ul class="troubles">
    ${quarantined.map((one, n) => html`<li key=${`q${n}`} class="note is-error"><${Icon} name="warn" /><span><a href=${hrefOf('plugins', one.plugin)}>
      <${Others}>${clip(one.plugin, 60)}</${Others}>
      </a> ${t('is in quarantine in {hook} for {time}:', { hook: oneLine(one.hook ?? '', 40), time: duration(one.seconds * 1000) })} <bdi dir="auto">${visible(clip(one.fault ?? '', 300))}</bdi></span></li>`)}
    ${failed.map((one, n) => html`<li key=${`f${n}`} class="note is-error"><${Icon} name="warn" /><span><b><${Others}>${clip(one.plugin, 60)}</${Others}>
      </b> ${t('did not load:')} <bdi dir="auto">${visible(clip(one.reason ?? '', 400))}</bdi></span></li>`)}
    ${untrusted.map((one, n) => html`<li key=${`u${n}`} class="note"><${Icon} name="decide" /><span><b><${Others}>${clip(one.name, 60)}</${Others}>
      </b> ${t('is in the workspace, which is not trusted:')} <code dir="auto">${visible(clip(one.file ?? '', 200))}</code></span></li>`)}
  </ul>`;
}
