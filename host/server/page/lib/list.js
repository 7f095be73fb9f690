// A list of many rows of one height, of which only those in sight are in the document.
import { html, useCallback, useEffect, useId, useImperativeHandle, useLayoutEffect, useRef, useState } from './html.js';

// Browsers bound the height of an element; a longer list is scrolled at a scale.
const MAX_HEIGHT = 12_000_000;
const OVERSCAN = 3;
// New contents that are laid out in one frame; rows beyond them follow in the next ones.
const NEW_A_FRAME = 5;

/**
 * @param {object} props
 * @param {number} props.count
 * @param {number} props.height the height of a row in pixels
 * @param {(index: number, isActive: boolean, isAffordable: () => boolean) => unknown} props.row the content of a row; a row
 *   that is costly asks whether it may be drawn in this frame, and is asked for again where it may not
 * @param {(index: number) => string} [props.rowClass]
 * @param {string} props.label
 * @param {number} props.active the index of the active row, or -1
 * @param {(index: number, how: 'key'|'click') => void} props.onActive
 * @param {(index: number) => void} [props.onOpen] Enter
 * @param {(first: number, end: number) => void} [props.onRange] called when other rows come into sight
 * @param {{current: any}} [props.control] gets `{show(index, where)}`
 * @param {number} [props.version] rows are rendered again when it changes
 */
export function VirtualList({ count, height, row, rowClass, label, active, onActive, onOpen, onRange, control, class: extra = '' }) {
  const box = useRef(null);
  const space = useRef(null);
  const rows = useRef(null);
  const [seen, setSeen] = useState({ first: 0, size: 0 });
  const frame = useRef(0);
  const id = useId();

  const total = count * height;
  const drawn = Math.min(total, MAX_HEIGHT);

  // The distance from the beginning of the list to the upper edge of the box, in pixels of the whole list.
  const offset = useCallback(() => {
    const at = box.current;
    if (total <= MAX_HEIGHT) return at.scrollTop;
    const way = drawn - at.clientHeight;
    return way > 0 ? (at.scrollTop / way) * (total - at.clientHeight) : 0;
  }, [total, drawn]);

  const look = useCallback(() => {
    const at = box.current;
    if (!at) return;
    const y = offset();
    const first = Math.max(0, Math.floor(y / height) - OVERSCAN);
    const size = Math.ceil(at.clientHeight / height) + 2 * OVERSCAN;
    // Not by a custom property: all descendants would inherit it, and be styled again at each step.
    rows.current.style.transform = `translateY(${at.scrollTop + first * height - y}px)`;
    setSeen((last) => (last.first === first && last.size === size ? last : { first, size }));
  }, [offset, height]);

  const scrolled = useCallback(() => {
    if (frame.current) return;
    frame.current = requestAnimationFrame(() => { frame.current = 0; look(); });
  }, [look]);

  useLayoutEffect(() => {
    space.current.style.setProperty('--total', `${drawn}px`);
    box.current.style.setProperty('--row', `${height}px`);
    look();
  }, [drawn, height, look]);

  useEffect(() => {
    const observer = new ResizeObserver(scrolled);
    observer.observe(box.current);
    return () => { observer.disconnect(); cancelAnimationFrame(frame.current); frame.current = 0; };
  }, [scrolled]);

  const end = Math.min(count, seen.first + seen.size);
  useEffect(() => { if (end > seen.first) onRange?.(seen.first, end); }, [seen.first, end, onRange]);

  const show = useCallback((index, where = 'nearest') => {
    const at = box.current;
    if (!at) return;
    const top = index * height;
    const y = offset();
    let to = y;
    if (where === 'center') to = top - (at.clientHeight - height) / 2;
    else if (where === 'start') to = top;
    else if (where === 'end') to = top + height - at.clientHeight;
    else if (top < y) to = top;
    else if (top + height > y + at.clientHeight) to = top + height - at.clientHeight;
    to = Math.max(0, Math.min(to, total - at.clientHeight));
    at.scrollTop = total <= MAX_HEIGHT ? to : (to / Math.max(1, total - at.clientHeight)) * (drawn - at.clientHeight);
    look();
  }, [height, total, drawn, offset, look]);

  useImperativeHandle(control ?? { current: null }, () => ({ show, box: box.current }), [show]);

  const pressed = (event) => {
    const page = Math.max(1, Math.floor(box.current.clientHeight / height) - 1);
    const from = active < 0 ? seen.first : active;
    const to = { ArrowDown: from + 1, ArrowUp: from - 1, j: from + 1, k: from - 1, PageDown: from + page, PageUp: from - page, Home: 0, End: count - 1 }[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (to !== undefined) {
      const next = Math.max(0, Math.min(count - 1, active < 0 && /Arrow|j|k/.test(event.key) ? seen.first + OVERSCAN : to));
      onActive(next, 'key');
      show(next);
    } else if (event.key === 'Enter' && active >= 0) onOpen?.(active);
    else return;
    event.preventDefault();
  };

  const clicked = (event) => {
    const at = event.target.closest('[data-row]');
    if (at) onActive(Number(at.dataset.row), 'click');
  };

  const [, draw] = useState(0);
  let left = NEW_A_FRAME;
  const isAffordable = () => { left -= 1; return left >= 0; };

  const slots = [];
  for (let index = seen.first; index < end; index += 1) {
    // Rows have no keys, so that scrolling changes texts and moves no elements.
    slots.push(html`<div role="option" id=${`${id}-${index}`} data-row=${index} aria-selected=${index === active} aria-setsize=${count}
      aria-posinset=${index + 1} class=${`vl-row ${rowClass?.(index) ?? ''}`}>${row(index, index === active, isAffordable)}</div>`);
  }
  const isLate = left < 0;
  useEffect(() => {
    if (!isLate) return undefined;
    const next = requestAnimationFrame(() => draw((n) => n + 1));
    return () => cancelAnimationFrame(next);
  });
  const hasActive = active >= seen.first && active < end;
  return html`<div ref=${box} class=${`vl ${extra}`} role="listbox" tabindex="0" aria-label=${label} onScroll=${scrolled} onKeyDown=${pressed}
    onClick=${clicked} aria-activedescendant=${hasActive ? `${id}-${active}` : undefined}>
    <div ref=${space} class="vl-space" role="none"><div ref=${rows} class="vl-rows" role="none">${slots}</div></div>
  </div>`;
}
