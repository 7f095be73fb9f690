// Talk: the sessions and one of them.
import { html } from '../lib/html.js';
import { t } from '../lib/i18n.js';
import { go } from '../lib/route.js';
import { Button, Empty } from '../lib/ui.js';
import { Conversation } from './talk/conversation.js';
import { SessionList, newSession } from './talk/sessions.js';

/** @param {{route: {view: string, parts: string[]}, me: object}} props */
export default function Talk({ route, me }) {
  const [session] = route.parts;
  return html`<div class=${`talk ${session ? 'has-session' : ''}`}>
    <h1 class="sr" tabindex="-1">${t('Talk')}</h1>
    <${SessionList} current=${session} me=${me} />
    ${session ? html`<${Conversation} key=${session} session=${session} me=${me} />`
      : html`<div class="conversation is-empty"><${Empty} title=${t('Choose a session')}>
          <${Button} kind="primary" icon="plus" onClick=${() => go('talk', newSession(me))}>${t('New session')}</${Button}></${Empty}></div>`}
  </div>`;
}
