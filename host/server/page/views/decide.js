// Decide: the questions of all sessions.
import { html, useRef } from '../lib/html.js';
import { approvals } from '../lib/approvals.js';
import { useSignal } from '../lib/signal.js';
import { t } from '../lib/i18n.js';
import { Busy, Empty, Heading, Missing, useKeys } from '../lib/ui.js';
import { Question } from './decide/question.js';

export default function Decide({ me }) {
  const { list, state } = useSignal(approvals);
  const box = useRef(null);
  const move = (step) => {
    const all = [...box.current.querySelectorAll('.question')];
    const at = all.indexOf(document.activeElement.closest?.('.question'));
    all[Math.max(0, Math.min(all.length - 1, at + step))]?.focus();
  };
  useKeys({ j: () => move(1), k: () => move(-1) }, []);
  const isAdmin = !me?.scopes || me.scopes.includes('admin');
  return html`<div class="view decide"><${Heading}>${t('Decide')}</${Heading}>
    <div class="view-body is-column" ref=${box}>
      <h2 class="sr">${t('Waiting questions')}</h2>
      ${state === 'missing' && (isAdmin ? html`<${Missing} what=${t('decisions in the page')} />` : html`<p class="missing">${t('Decisions need a token with the scope `admin`.')}</p>`)}
      ${state === 'connecting' && !list.length && html`<${Busy} />`}
      ${state === 'waiting' && html`<p class="missing" role="status">${t('The connection is lost. Until it is back, calls are denied unless another page listens.')}</p>`}
      ${state === 'open' && !list.length && html`<${Empty} title=${t('No pending questions')}>
        <p>${t('While this page is open, tool calls that need an approval are asked here. The first answer counts: from this page, a terminal or a chat.')}</p></${Empty}>`}
      ${list.map((one) => html`<${Question} key=${one.id} question=${one} />`)}
      ${list.length > 0 && html`<p class="muted small keys-hint">
        <kbd>j</kbd> <kbd>k</kbd> ${t('move between questions;')} <kbd>y</kbd> ${t('allows once,')} <kbd>a</kbd> ${t('for the session,')} <kbd>n</kbd> ${t('denies,')} <kbd>v</kbd> ${t('never.')}</p>`}
    </div></div>`;
}
