// Costs and health: what was used, what runs and what the log says.
import { html } from '../lib/html.js';
import { t } from '../lib/i18n.js';
import { go } from '../lib/route.js';
import { Choice, Heading } from '../lib/ui.js';
import { Health } from './costs/health.js';
import { Log } from './costs/log.js';
import { Usage } from './costs/usage.js';

export default function Costs({ route, me }) {
  const [tab = 'usage'] = route.parts;
  const tabs = [['usage', t('Usage')], ['health', t('Health')], ['log', t('Log')]];
  return html`<div class="view costs">
    <${Heading} tools=${html`<${Choice} label=${t('Part')} value=${tab} options=${tabs} onChange=${(name) => go('costs', ...(name === 'usage' ? [] : [name]))} />`}>${t('Costs')}</${Heading}>
    ${tab === 'log' ? html`<${Log} me=${me} />` : tab === 'health' ? html`<${Health} />` : html`<${Usage} />`}</div>`;
}
