// Grants in words, to be chosen.
import { html } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { Icon, Others } from '../../lib/ui.js';
import { clip, visible } from '../../lib/text.js';

/**
 * @param {{wants: {grant: string, why: string|null, means: string, held: boolean}[], chosen: Set<string>, onChange: (chosen: Set<string>) => void, disabled?: boolean, name: string}} props
 */
export function Grants({ wants, chosen, onChange, disabled, name }) {
  if (!wants.length) return html`<p class="muted">${t('It asks for no grants.')}</p>`;
  const toggle = (grant) => {
    const next = new Set(chosen);
    if (!next.delete(grant)) next.add(grant);
    onChange(next);
  };
  return html`<fieldset class="grants"><legend class="sr">${t('Grants of {name}', { name })}</legend>
    ${wants.map((want) => html`<label key=${want.grant} class=${`grant ${chosen.has(want.grant) !== want.held ? 'is-changed' : ''}`}>
      <input type="checkbox" checked=${chosen.has(want.grant)} disabled=${disabled} onChange=${() => toggle(want.grant)} />
      <span class="grant-text"><span><b dir="auto">${visible(clip(want.means ?? '', 300))}</b></span>
        <span class="muted small"><code dir="auto">${visible(clip(want.grant, 120))}</code>${want.why && html` · ${t('according to its author:')} <${Others}>${clip(want.why, 300)}</${Others}>`}</span></span>
    </label>`)}</fieldset>`;
}

/** What grants come to together, where that is worse than each alone. */
export function Dangers({ dangers }) {
  if (!dangers?.length) return null;
  return html`<ul class="dangers">${dangers.map((text, n) => html`<li key=${n} class="note is-error"><${Icon} name="warn" />
    <span dir="auto">${visible(clip(text, 600))}</span></li>`)}</ul>`;
}
