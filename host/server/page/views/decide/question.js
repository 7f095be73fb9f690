// A question before a tool call.
import { html, useEffect, useRef, useState } from '../../lib/html.js';
import { answer, approvals } from '../../lib/approvals.js';
import { notify } from '../../lib/notices.js';
import { t } from '../../lib/i18n.js';
import { hrefOf } from '../../lib/route.js';
import { sessions, titleOf } from '../../lib/events.js';
import { useSignal } from '../../lib/signal.js';
import { Button, Icon, Others, Time, useAction } from '../../lib/ui.js';
import { clip, lookUp, oneLine, visible } from '../../lib/text.js';
import { Arguments } from '../talk/messages.js';

// A question that appears under a finger is not answered by it.
const GUARD_MS = 500;

/**
 * What an effect means, in words.
 * @param {string} effect
 * @returns {string}
 */
export function effectText(effect) {
  const texts = {
    read: t('reads something'),
    write: t('changes files or data'),
    send: t('sends something out of this machine'),
    run: t('runs a program as you'),
  };
  return lookUp(texts, effect, oneLine(effect ?? '', 60));
}

/** @param {{question: object, isHere?: boolean}} props `isHere`: it stands in its own session */
export function Question({ question, isHere }) {
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setReady(true), GUARD_MS);
    return () => clearTimeout(timer);
  }, []);
  const rules = question.rules ?? [];
  const box = useRef(null);
  const list = useSignal(sessions).list;
  const session = list.find((one) => one.session_id === question.session_id) ?? { session_id: question.session_id };
  const action = useAction(async (decision) => {
    try {
      await answer(question.id, decision);
    } catch (error) {
      if (error.status !== 409 && error.status !== 404) throw error;
      notify(error.status === 409 ? t('Another client answered first: {why}', { why: oneLine(error.message, 160) }) : t('The question has expired: its turn has ended.'));
      approvals.set({ ...approvals.value, list: approvals.value.list.filter((one) => one.id !== question.id) });
    }
  });
  const decide = (decision) => { if (isReady) action.start(decision); };
  // The letters of the terminal, where the question has the focus.
  const pressed = (event) => {
    const decision = lookUp({ y: 'once', a: 'session', ...(rules.length && { p: 'rule' }), n: 'no', v: 'never' }, event.key);
    if (!decision || event.ctrlKey || event.metaKey || event.altKey || event.target !== box.current) return;
    event.preventDefault();
    decide(decision);
  };
  const tool = clip(question.tool, 80);
  return html`<article class="question" ref=${box} tabindex="0" aria-label=${t('Question: {tool}', { tool: oneLine(tool, 80) })} onKeyDown=${pressed}>
    <header class="question-head">
      <span class=${`effect is-${['read', 'write', 'send', 'run'].includes(question.effect) ? question.effect : 'run'}`}>${effectText(question.effect)}</span>
      <h3><${Others}>${tool}</${Others}></h3>
      <span class="muted small"><${Time} at=${question.asked} /></span>
    </header>
    <dl class="facts">
      <div><dt>${t('Reason')}</dt><dd dir="auto">${visible(clip(question.why || t('The policy asks.'), 1000))}</dd></div>
      <div><dt>${t('Caused by')}</dt>
        <dd>${question.source === 'chat' ? t('a chat in a terminal') : t('a turn of the server')}${!isHere && html`, ${t('in session')} <a href=${hrefOf('talk', question.session_id)}>
        <${Others}>${clip(oneLine(titleOf(session), 80), 80)}</${Others}></a>`}</dd></div>
      <div><dt>${t('Plugin')}</dt><dd>${question.plugin ? html`<${Others}>${clip(question.plugin, 80)}</${Others}>` : t('built in')}</dd></div>
    </dl>
    <h4 class="label">${t('What would be done')}</h4>
    <${Arguments} text=${question.arguments ?? '{}'} />
    ${question.ends_with_trust && html`<p class="muted small">${t('Trusting the workspace ends these questions: {command}', { command: 'bub-wasm trust' })}</p>`}
    ${rules.length > 0 && html`<h4 class="label">${t('Rules that can be kept')}</h4>
      ${rules.map((rule) => html`<p class="small"><code dir="ltr">${visible(clip(rule, 1000))}</code></p>`)}`}
    <footer class="question-foot" role="group" aria-label=${t('Decision')}>
      <${Button} kind="primary" busy=${action.isBusy} aria-disabled=${!isReady} onClick=${() => decide('once')}>${t('Allow once')}</${Button}>
      <${Button} busy=${action.isBusy} aria-disabled=${!isReady} title=${t('This tool with these arguments, in this session')} onClick=${() => decide('session')}>${t('Allow for the session')}</${Button}>
      ${rules.length > 0 && html`<${Button} busy=${action.isBusy} aria-disabled=${!isReady} title=${t('The rules are written to config.toml')} onClick=${() => decide('rule')}>${t('Always by rule')}</${Button}>`}
      <${Button} busy=${action.isBusy} aria-disabled=${!isReady} onClick=${() => decide('no')}>${t('Deny')}</${Button}>
      <${Button} kind="danger-quiet" busy=${action.isBusy} aria-disabled=${!isReady} title=${t('This tool is not called any more in this session')} onClick=${() => decide('never')}>${t('Never in this session')}</${Button}>
    </footer>
    ${action.error && html`<p class="form-error" role="alert" dir="auto"><${Icon} name="warn" /> ${action.error.message}</p>`}
  </article>`;
}
