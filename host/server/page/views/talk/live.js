// The turn that runs, as it is told by the session's stream.
import { html, useCallback, useEffect, useRef, useState } from '../../lib/html.js';
import { path, stream } from '../../lib/api.js';
import { Markdown, plainText } from '../../lib/markdown.js';
import { take } from '../../lib/turns.js';
import { announce } from '../../lib/notices.js';
import { duration, t, tn } from '../../lib/i18n.js';
import { Icon } from '../../lib/ui.js';
import { clip, visible } from '../../lib/text.js';
import { Call } from './messages.js';

const FRAME_MS = 40;

/**
 * Follows the turns of a session while the page is in sight.
 * @returns {{turn: object|null, version: number, state: string, forget: () => void}}
 */
export function useLive(session, onEnded) {
  const turn = useRef(null);
  const lastId = useRef('');
  const [shown, setShown] = useState({ version: 0, state: 'connecting' });
  const ended = useRef(onEnded);
  ended.current = onEnded;

  useEffect(() => {
    turn.current = null;
    lastId.current = '';
    let close = null;
    let timer = null;
    // Rendering takes longer as an answer grows; the pause grows with it.
    let pause = FRAME_MS;
    const draw = () => {
      timer = null;
      const began = performance.now();
      setShown((last) => ({ ...last, version: last.version + 1 }));
      requestAnimationFrame(() => { pause = Math.max(FRAME_MS, Math.min(400, (performance.now() - began) * 2)); });
    };
    const open = () => {
      close ??= stream(path`/v1/sessions/${session}/stream`, {
        lastId: lastId.current,
        onEvent: (name, data, id) => {
          if (id) lastId.current = id;
          const was = turn.current;
          const { turn: now, ended: isEnd } = take(was, name, data ?? {});
          turn.current = now;
          if (name === 'begin') announce(t('The agent answers'));
          if (isEnd) {
            if (now.error) announce(t('The turn failed: {why}', { why: now.error.message ?? '' }));
            else announce(t('Answer: {text}', { text: plainText(now.output ?? '') }));
            ended.current(now);
          }
          timer ??= setTimeout(draw, pause);
        },
        onState: (state) => setShown((last) => ({ ...last, state })),
      });
    };
    // A browser has few connections to a server; a page that is not seen needs none.
    let hiding = null;
    const seen = () => {
      clearTimeout(hiding);
      if (document.hidden) hiding = setTimeout(() => { close?.(); close = null; }, 20_000);
      else open();
    };
    open();
    document.addEventListener('visibilitychange', seen);
    return () => {
      document.removeEventListener('visibilitychange', seen);
      clearTimeout(hiding);
      clearTimeout(timer);
      close?.();
    };
  }, [session]);

  const forget = useCallback((which) => {
    if (!which || turn.current === which) {
      turn.current = null;
      setShown((last) => ({ ...last, version: last.version + 1 }));
    }
  }, []);
  return { turn: turn.current, version: shown.version, state: shown.state, forget };
}

/** The turn that runs. */
export function Live({ turn }) {
  const isThinking = !turn.isDone && !turn.blocks.some((block) => block.type === 'text' || block.type === 'tool');
  return html`<article class="msg assistant is-live" aria-label=${t('Agent')} aria-busy=${!turn.isDone}>
    ${turn.missed > 0 && html`<p class="muted small">${tn(turn.missed, '{n} event was missed; the tape will be complete.', '{n} events were missed; the tape will be complete.')}</p>`}
    ${turn.isTakenOver && html`<p class="muted small">${t('Another worker takes over the turn.')}</p>`}
    ${turn.blocks.map((block, n) => html`<${Block} key=${n} block=${block} isLast=${n === turn.blocks.length - 1} turn=${turn} />`)}
    ${turn.error && html`<p class="note is-error"><${Icon} name="warn" /><span dir="auto">${visible(clip(turn.error.message ?? '', 1000))}</span></p>`}
    ${!turn.isDone && html`<p class="working"><span class="dots" aria-hidden="true"><i></i><i></i><i></i></span>
      <span>${isThinking ? t('Thinking') : t('Working')}</span> <${Clock} since=${turn.began} /></p>`}
  </article>`;
}

function Block({ block, isLast, turn }) {
  switch (block.type) {
    case 'text': return html`<${Markdown} text=${block.text} isWhole />`;
    case 'reasoning': return html`<${Reasoning} text=${block.text} isOpen=${isLast && !turn.isDone} />`;
    case 'tool': return html`<${Call} call=${block} isRunning=${!block.result && block.took === undefined && !turn.isDone} />`;
    case 'retry': return html`<p class="note"><${Icon} name="again" />
      <span>${t('Retrying in {time}:', { time: duration(block.pause) })} <bdi dir="auto">${visible(clip(block.text, 300))}</bdi></span></p>`;
    default: return null;
  }
}

function Reasoning({ text, isOpen }) {
  return html`<details class="reasoning" open=${isOpen}>
    <summary>${t('Reasoning')} <span class="muted">${tn(text.split(/\s+/).length, '{n} word', '{n} words')}</span></summary>
    <div class="reasoning-text" dir="auto">${visible(text.length > 20_000 ? '…' + text.slice(-20_000) : text)}</div></details>`;
}

function Clock({ since }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const passed = now - since;
  return passed < 2000 ? null : html`<span class="muted" aria-hidden="true">${duration(Math.floor(passed / 1000) * 1000)}</span>`;
}
