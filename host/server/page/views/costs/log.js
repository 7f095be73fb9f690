// The log, live.
import { html, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../../lib/html.js';
import { stream } from '../../lib/api.js';
import { number, t, tn } from '../../lib/i18n.js';
import { Button, Code, Empty, Icon, Missing, Select, VirtualList, useKeys, useRem } from '../../lib/ui.js';
import { oneLine, visible } from '../../lib/text.js';

const MAX_LINES = 5000;
const LEVELS = ['error', 'warn', 'info', 'debug'];
const DRAW_MS = 150;

function useLog(isPaused) {
  const lines = useRef([]);
  const [version, setVersion] = useState(0);
  const [state, setState] = useState('connecting');
  const paused = useRef(isPaused);
  paused.current = isPaused;
  useEffect(() => {
    let timer = null;
    const draw = () => { timer = null; setVersion((n) => n + 1); };
    const close = stream('/v1/log', {
      onEvent: (name, data) => {
        if (name === 'ready') lines.current = [];
        if (name !== 'line') return;
        lines.current.push(data);
        if (lines.current.length > MAX_LINES) lines.current.splice(0, lines.current.length - MAX_LINES);
        if (!paused.current) timer ??= setTimeout(draw, DRAW_MS);
      },
      onState: setState,
    });
    return () => { clearTimeout(timer); close(); };
  }, []);
  useEffect(() => { if (!isPaused) setVersion((n) => n + 1); }, [isPaused]);
  // A paused log shows what it showed.
  const shown = useMemo(() => [...lines.current], [version]);
  return { lines: shown, state };
}

export function Log({ me }) {
  const [level, setLevel] = useState('info');
  const [text, setText] = useState('');
  const [isPaused, setPaused] = useState(false);
  const [active, setActive] = useState(-1);
  const { lines, state } = useLog(isPaused);
  const height = useRem(1.85);
  const control = useRef(null);
  const follows = useRef(true);
  const field = useRef(null);
  useKeys({ '/': () => field.current?.focus() }, []);
  const found = useMemo(() => {
    const least = LEVELS.indexOf(level);
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return lines.filter((line) => LEVELS.indexOf(line.level) <= least && (!words.length || words.every((word) => `${line.target} ${line.message}`.toLowerCase().includes(word))));
  }, [lines, level, text]);

  useLayoutEffect(() => { if (follows.current && found.length) control.current?.show(found.length - 1, 'end'); }, [found]);
  const range = useCallback(() => {
    const box = control.current?.box;
    if (box) follows.current = box.scrollHeight - box.scrollTop - box.clientHeight < 60;
  }, []);

  if (state === 'missing') {
    const isAdmin = !me?.scopes || me.scopes.includes('admin');
    return html`<div class="view-body is-column">${isAdmin ? html`<${Missing} what=${t('a live log')} />` : html`<p class="missing">${t('The log needs a token with the scope `admin`.')}</p>`}</div>`;
  }
  const line = found[active];
  return html`<div class="log">
    <div class="log-tools"><h2 class="sr">${t('Log')}</h2>
      <${Select} label=${t('Level')} value=${level} options=${LEVELS.map((name) => [name, name])} onChange=${setLevel} />
      <label class="search"><span class="sr">${t('Filter the log')}</span><${Icon} name="search" />
        <input ref=${field} type="search" placeholder=${t('Filter by words')} value=${text} onInput=${(event) => setText(event.currentTarget.value)} /></label>
      <${Button} aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}>${isPaused ? t('Resume') : t('Pause')}</${Button}>
      <span class="muted small" role="status">${state === 'waiting' ? t('Reconnecting') : tn(found.length, '{n} line', '{n} lines', { n: number(found.length) })}</span></div>
    ${found.length === 0 ? html`<${Empty} title=${lines.length ? t('No matches') : t('The log is empty')} />`
      : html`<${VirtualList} class="log-lines" label=${t('Lines of the log')} count=${found.length} height=${height} control=${control} active=${active} onActive=${setActive} onRange=${range}
          rowClass=${([one]) => `is-log is-${one?.level}`} item=${(index) => [found[index]]} row=${([one]) => (
            one && html`<span class="log-at">${String(one.at).slice(11, 23)}</span><span class="log-level">${one.level}</span>
              <bdi class="log-target" dir="auto">${oneLine(one.target ?? '', 60)}</bdi>
              <bdi class="log-text" dir="auto">${oneLine(one.message ?? '', 400)}</bdi>`)} />`}
    ${line && html`<div class="log-line"><p class="muted small">${visible(line.at)} · ${line.level} · <bdi dir="auto">${oneLine(line.target ?? '', 100)}</bdi>
      </p><${Code} text=${line.message ?? ''} label=${t('Message')} /></div>`}
  </div>`;
}
