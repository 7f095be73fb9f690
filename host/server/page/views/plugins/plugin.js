// One plugin.
import { html, useEffect, useMemo, useState } from '../../lib/html.js';
import { path, post } from '../../lib/api.js';
import { notify } from '../../lib/notices.js';
import { duration, t } from '../../lib/i18n.js';
import { hrefOf } from '../../lib/route.js';
import { Button, Confirm, Icon, Others, useAction } from '../../lib/ui.js';
import { clip, oneLine, visible } from '../../lib/text.js';
import { Dangers, Grants } from './grants.js';
import { Stats, sourceText } from './stats.js';

/**
 * Sends a change of a plugin.
 * @param {string} name
 * @param {"add"|"grant"|"revoke"|"rollback"|"unquarantine"} what
 * @param {object} [body]
 */
export const change = (name, what, body = {}) => post(path`/v1/plugins/${name}/${what}`, body);

/**
 * A plugin and what can be changed of it.
 * @param {{plugin: object, held: object[], canChange: boolean, onChanged: () => void}} props
 */
export function Plugin({ plugin, held, canChange, onChanged }) {
  const { name, wants } = plugin;
  const given = useMemo(() => new Set(wants.filter((want) => want.held).map((want) => want.grant)), [wants]);
  const [chosen, setChosen] = useState(given);
  const [asks, setAsks] = useState(null);
  // A change from elsewhere replaces the choice.
  useEffect(() => setChosen(given), [[...given].join('\n')]);
  const added = wants.filter((want) => chosen.has(want.grant) && !given.has(want.grant));
  const removed = wants.filter((want) => !chosen.has(want.grant) && given.has(want.grant));
  const apply = useAction(async () => {
    if (removed.length) await change(name, 'revoke', { grants: removed.map((want) => want.grant) });
    if (added.length) await change(name, 'grant', { grants: added.map((want) => want.grant) });
    done(t('Grants updated'));
  });
  const rollback = useAction(async () => { await change(name, 'rollback'); done(t('The previous version is active')); });
  const release = useAction(async () => { await change(name, 'unquarantine'); done(t('Quarantine ended')); });
  const done = (text) => { setAsks(null); notify(text); onChanged(); };
  const shown = oneLine(name, 60);

  return html`<section class="split-one" aria-label=${shown}>
    <header class="one-head"><a class="button quiet is-icon back" href=${hrefOf('plugins')} aria-label=${t('All plugins')}><${Icon} name="back" /></a>
      <h2><${Others}>${clip(shown, 60)}</${Others}></h2><span class="muted">${visible(clip(plugin.version ?? '', 30))} · ${sourceText(plugin.source)}</span>
      ${canChange && plugin.has_previous && html`<${Button} icon="again" onClick=${() => setAsks('rollback')}>${t('Roll back')}</${Button}>`}</header>
    ${plugin.about && html`<p dir="auto">${visible(clip(plugin.about, 800))}</p>`}
    ${held.map((one, n) => html`<div key=${n} class="note is-error"><${Icon} name="warn" />
      <span>${t('In quarantine in {hook} for {time}', { hook: oneLine(one.hook ?? '', 60), time: duration(one.seconds * 1000) })}${one.session && html` · <bdi dir="auto">${oneLine(one.session, 60)}</bdi>`}: <bdi dir="auto">${visible(clip(one.fault ?? '', 600))}</bdi></span></div>`)}
    ${held.length > 0 && canChange && html`<div><${Button} busy=${release.isBusy} onClick=${() => release.start()}>${t('End the quarantine')}</${Button}></div>`}
    ${release.error && html`<p class="form-error" role="alert" dir="auto">${release.error.message}</p>`}
    ${plugin.other_bytes && html`<p class="note is-error"><${Icon} name="warn" />
      <span>${t('The grants belong to other bytes of this plugin. It has none until you grant them again.')}</span></p>`}
    <${Dangers} dangers=${plugin.dangers} />

    <h3>${t('Grants')}</h3>
    <${Grants} wants=${wants} chosen=${chosen} onChange=${setChosen} disabled=${!canChange} name=${shown} />
    ${(added.length > 0 || removed.length > 0) && html`<div class="row-tools">
      <${Button} kind="primary" onClick=${() => setAsks('grants')}>${t('Apply the changes')}</${Button}>
      <${Button} onClick=${() => setChosen(given)}>${t('Reset')}</${Button}></div>`}

    <h3>${t('Calls')}</h3>
    <${Stats} stats=${plugin.stats} />

    <h3>${t('What it offers')}</h3>
    <dl class="facts">
      <div><dt>${t('Hooks')}</dt><dd><${Names} names=${plugin.hooks} /></dd></div>
      <div><dt>${t('Tools')}</dt><dd><${Names} names=${plugin.tools} /></dd></div>
      ${plugin.reads_outside?.length > 0 && html`<div><dt>${t('Tools that read outside text')}</dt><dd><${Names} names=${plugin.reads_outside} /></dd></div>`}
      ${plugin.commands?.length > 0 && html`<div><dt>${t('Commands')}</dt><dd><${Names} names=${plugin.commands.map((one) => one.name)} /></dd></div>`}
      ${plugin.provider && html`<div><dt>${t('Models of')}</dt><dd><${Names} names=${[String(plugin.provider)]} /></dd></div>`}
      <div><dt>${t('Imports')}</dt><dd><${Names} names=${plugin.imports} /></dd></div>
      <div><dt>${t('Digest')}</dt><dd><code class="break">${visible(clip(plugin.digest ?? '', 100))}</code></dd></div>
    </dl>

    ${asks === 'grants' && html`<${Confirm} title=${t('Change the grants of {name}?', { name: shown })} action=${t('Apply')} danger=${added.length > 0} onClose=${() => setAsks(null)} onYes=${() => apply.start()} busy=${apply.isBusy} error=${apply.error}>
      ${added.length > 0 && html`<p>${t('New grants: the plugin')}</p>
        <ul class="bullets">${added.map((want) => html`<li key=${want.grant} dir="auto">${visible(clip(want.means, 300))}</li>`)}</ul>`}
      ${removed.length > 0 && html`<p>${t('Revoked grants: the plugin no longer')}</p>
        <ul class="bullets">${removed.map((want) => html`<li key=${want.grant} dir="auto">${visible(clip(want.means, 300))}</li>`)}</ul>`}</${Confirm}>`}
    ${asks === 'rollback' && html`<${Confirm} title=${t('Roll {name} back?', { name: shown })} action=${t('Roll back')} onClose=${() => setAsks(null)} onYes=${() => rollback.start()} busy=${rollback.isBusy} error=${rollback.error}>
      <p>${t('The previous version is loaded again with its grants.')}</p></${Confirm}>`}
  </section>`;
}

function Names({ names }) {
  if (!names?.length) return html`<span class="muted">${t('none')}</span>`;
  return html`<span class="tags">${names.slice(0, 60).map((name, n) => html`<span key=${n} class="tag" dir="auto">${visible(clip(name, 60))}</span>`)}</span>`;
}
