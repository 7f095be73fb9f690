// Adding a component that was dropped on the page: it is looked at before anything of it runs with grants.
import { html, useEffect, useState } from '../../lib/html.js';
import { api, query } from '../../lib/api.js';
import { notify } from '../../lib/notices.js';
import { bytes, t } from '../../lib/i18n.js';
import { go } from '../../lib/route.js';
import { Button, Dialog, Failure, useAction } from '../../lib/ui.js';
import { clip, oneLine, visible } from '../../lib/text.js';
import { Dangers, Grants } from './grants.js';
import { change } from './plugin.js';

const nameOf = (file) => file.name.replace(/\.wasm$/i, '').replace(/[^\w.-]+/g, '-').slice(0, 64) || 'plugin';

/** What other bytes of a plugin ask for and offer, compared with those before. */
function changesOf(before, after) {
  const wants = (plugin) => new Map((plugin.wants ?? []).map((want) => [want.grant, want.means]));
  const compare = (a, b, gone, fresh) => [...[...b].filter((one) => !a.includes(one)).map(fresh), ...[...a].filter((one) => !b.includes(one)).map(gone)];
  const [old, now] = [wants(before), wants(after)];
  return [
    ...compare([...old.keys()], [...now.keys()], (grant) => t('no longer asks for {grant}', { grant }), (grant) => t('asks for {grant}: {means}', { grant, means: now.get(grant) ?? '' })),
    ...compare(before.hooks ?? [], after.hooks ?? [], (name) => t('no longer has the hook {name}', { name }), (name) => t('has the hook {name}', { name })),
    ...compare(before.tools ?? [], after.tools ?? [], (name) => t('no longer has the tool {name}', { name }), (name) => t('has the tool {name}', { name })),
  ];
}

/**
 * Looks at a component and adds it with the grants that are chosen.
 * @param {{file: File, onClose: () => void, onDone: () => void}} props
 */
export function Add({ file, onClose, onDone }) {
  const [name, setName] = useState(nameOf(file));
  const [found, setFound] = useState(null);
  const [chosen, setChosen] = useState(new Set());
  const inspect = useAction(async () => {
    setFound(null);
    const given = await api('POST', '/v1/plugins/inspect' + query({ name }), file, { type: 'application/wasm' });
    // What the earlier bytes held and these ask for again is offered again.
    const before = new Set((given.before?.wants ?? []).filter((want) => want.held).map((want) => want.grant));
    setChosen(new Set(given.candidate.wants.map((want) => want.grant).filter((grant) => before.has(grant))));
    setFound({ ...given, name });
  });
  useEffect(() => { inspect.start(); }, []);
  const add = useAction(async () => {
    await change(found.name, 'add', { digest: found.digest, grants: [...chosen] });
    notify(t('{name} is added', { name: oneLine(found.name, 60) }));
    onClose();
    onDone();
    go('plugins', found.name);
  });
  const candidate = found?.candidate;
  const changes = candidate && found.before ? found.changes ?? changesOf(found.before, candidate) : [];
  const isOther = found && found.name !== name;
  const actions = html`<${Button} onClick=${onClose}>${t('Cancel')}</${Button}>
    ${isOther || !found ? html`<${Button} busy=${inspect.isBusy} disabled=${!name} onClick=${() => inspect.start()}>${t('Inspect')}</${Button}>`
      : html`<${Button} kind="primary" busy=${add.isBusy} onClick=${() => add.start()}>${found.before ? t('Replace') : t('Add')}</${Button}>`}`;
  return html`<${Dialog} title=${found?.before ? t('Replace a plugin') : t('Add a plugin')} class="is-wide" onClose=${onClose} actions=${actions}>
    <label class="field"><span>${t('Name')}</span>
      <input type="text" value=${name} pattern="[A-Za-z0-9._-]+" maxlength="64" onInput=${(event) => setName(event.currentTarget.value.trim())} /></label>
    <p class="muted small"><bdi dir="auto">${oneLine(file.name, 80)}</bdi> · ${bytes(file.size)}</p>
    ${inspect.isBusy && html`<p role="status">${t('Compiling and inspecting the component …')}</p>`}
    ${inspect.error && html`<${Failure} error=${inspect.error} what=${t('The server cannot load this file as a plugin')} />`}
    ${candidate && html`
      <p dir="auto"><b>${visible(clip(candidate.version ?? '', 30))}</b> ${visible(clip(candidate.about ?? '', 500))}</p>
      ${found.before && html`<p class="note"><span>${t('It replaces version {version}.', { version: visible(clip(found.before.version ?? '?', 30)) })}</span></p>`}
      ${changes.length > 0 && html`<div><h3 class="label">${t('What changes')}</h3>
        <ul class="bullets">${changes.map((text, n) => html`<li key=${n} dir="auto">${visible(clip(text, 400))}</li>`)}</ul></div>`}
      <${Dangers} dangers=${found.dangers ?? candidate.dangers} />
      <dl class="facts"><div><dt>${t('Hooks')}</dt><dd dir="auto">${visible(clip((candidate.hooks ?? []).join(', ') || '–', 400))}</dd></div><div>
        <dt>${t('Tools')}</dt><dd dir="auto">${visible(clip((candidate.tools ?? []).join(', ') || '–', 400))}</dd></div>
        <div><dt>${t('Digest')}</dt><dd><code class="break">${visible(clip(found.digest ?? '', 100))}</code></dd></div></dl>
      <div class="row-tools"><h3>${t('What it may do')}</h3>
        <${Button} kind="quiet" onClick=${() => setChosen(new Set(candidate.wants.map((want) => want.grant)))}>${t('All')}</${Button}>
        <${Button} kind="quiet" onClick=${() => setChosen(new Set())}>${t('None')}</${Button}></div>
      <${Grants} wants=${candidate.wants.map((want) => ({ ...want, held: chosen.has(want.grant) }))} chosen=${chosen} onChange=${setChosen} name=${oneLine(name, 60)} />
      ${add.error && html`<p class="form-error" role="alert" dir="auto">${add.error.status === 404 ? t('The server no longer holds the bytes. Inspect the file again.') : add.error.message}</p>`}`}
  </${Dialog}>`;
}
