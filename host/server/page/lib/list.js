// A list of many rows of one height, of which only those in sight are in the document.
import { html, useCallback, useEffect, useId, useImperativeHandle, useLayoutEffect, useRef, useState } from './html.js';

// Browsers bound the height of an element; a longer list is scrolled at a scale.
const MAX_HEIGHT = 12_000_000;
const OVERSCAN = 3;
// Rows behind the one that the others are placed from: a browser bounds distances too.
const MAX_PLACE = 4096;
// New contents that are laid out in one frame; rows beyond them follow in the next ones.
const NEW_A_FRAME = 5;

// The rows from `first` on, and the one from which they are placed: the same one while they are scrolled, so that those
// that stay in sight are not moved, and one as far away as before where none stays, so that only texts change.
function next(last, first, size) {
  if (last.first === first && last.size === size) return last;
  const stays = last.size === size && Math.abs(first - last.first) < size;
  const base = stays ? last.base : last.base + first - last.first;
  const isFar = first < base || first - base > MAX_PLACE;
  return { first, size, base: isFar ? first - MAX_PLACE / 2 : base };
}

const isSame = (some, others) => some?.length === others.length && some.every((one, n) => one === others[n]);

/**
 * @param {object} props
 * @param {number} props.count
 * @param {number} props.height the height of a row in pixels
 * @param {(index: number) => unknown[]} props.item what a row shows; it is drawn again when one of these values is another
 * @param {(item: unknown[], isAffordable: () => boolean) => unknown} props.row the content of a row; one that is costly asks
 *   whether it may be drawn in this frame, and is drawn again in the next one where it may not
 * @param {(item: unknown[]) => string} [props.rowClass]
 * @param {string} props.label
 * @param {number} props.active the index of the active row, or -1
 * @param {(index: number, how: 'key'|'click') => void} props.onActive
 * @param {(index: number) => void} [props.onOpen] Enter
 * @param {(first: number, end: number) => void} [props.onRange] called when other rows come into sight
 * @param {{current: any}} [props.control] gets `{show(index, where)}`
 */
export function VirtualList({ count, height, item, row, rowClass, label, active, onActive, onOpen, onRange, control, class: extra = '' }) {
  const box = useRef(null);
  const space = useRef(null);
  const rows = useRef(null);
  const latest = useRef({ first: 0, size: 0, base: 0 });
  const [seen, setSeen] = useState(latest.current);
  const frame = useRef(0);
  const [, draw] = useState(0);
  const isLate = useRef(false);
  // Asked for when it changes: a size that is asked for while elements change has the browser lay them out at once.
  const inner = useRef(0);
  const id = useId();

  const total = count * height;
  const drawn = Math.min(total, MAX_HEIGHT);

  // The distance from the beginning of the list to the upper edge of the box, in pixels of the whole list.
  const offset = useCallback((top) => {
    if (total <= MAX_HEIGHT) return top;
    const way = drawn - inner.current;
    return way > 0 ? (top / way) * (total - inner.current) : 0;
  }, [total, drawn]);

  const look = useCallback(() => {
    if (!box.current) return;
    const top = box.current.scrollTop;
    const y = offset(top);
    const first = Math.max(0, Math.floor(y / height) - OVERSCAN);
    const size = Math.ceil(inner.current / height) + 2 * OVERSCAN;
    latest.current = next(latest.current, first, size);
    setSeen(latest.current);
    // Not by a custom property: all descendants would inherit it, and be styled again at each step.
    const transform = `translateY(${top + latest.current.base * height - y}px)`;
    if (rows.current.style.transform !== transform) rows.current.style.transform = transform;
    if (isLate.current) draw((n) => n + 1);
  }, [offset, height]);

  const scrolled = useCallback(() => {
    if (frame.current) return;
    frame.current = requestAnimationFrame(() => { frame.current = 0; look(); });
  }, [look]);

  useLayoutEffect(() => {
    space.current.style.setProperty('--total', `${drawn}px`);
    box.current.style.setProperty('--row', `${height}px`);
    inner.current = box.current.clientHeight;
    look();
  }, [drawn, height, look]);

  useEffect(() => {
    const observer = new ResizeObserver(() => { if (box.current) { inner.current = box.current.clientHeight; scrolled(); } });
    observer.observe(box.current);
    return () => { observer.disconnect(); cancelAnimationFrame(frame.current); frame.current = 0; };
  }, [scrolled]);

  const end = Math.min(count, seen.first + seen.size);
  // An effect behind the frame would ask for another frame, at each step.
  useLayoutEffect(() => { if (end > seen.first) onRange?.(seen.first, end); }, [seen.first, end, onRange]);

  const show = useCallback((index, where = 'nearest') => {
    const at = box.current;
    if (!at) return;
    const top = index * height;
    const y = offset(at.scrollTop);
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

  let left = NEW_A_FRAME;
  const isAffordable = () => { left -= 1; return left >= 0; };

  // A row that leaves at one end is the one that enters at the other: its texts change, and the rows between stay as they
  // are. So their order in the document is not the one that is seen, which `aria-posinset` says.
  const kept = useRef([]);
  const slots = Array.from({ length: seen.size }, () => null);
  for (let index = seen.first; index < end; index += 1) {
    const place = index - seen.base;
    const slot = place % seen.size;
    const parts = [index, index === active, count, place, ...item(index)];
    const before = left;
    slots[slot] = isSame(kept.current[slot]?.parts, parts) ? kept.current[slot].node
      : html`<div key=${slot} role="option" id=${`${id}-${index}`} data-row=${index} aria-selected=${index === active} aria-setsize=${count} aria-posinset=${index + 1}
        class=${`vl-row ${rowClass?.(parts.slice(4)) ?? ''}`} style=${{ transform: `translateY(${place * height}px)` }}>${row(parts.slice(4), isAffordable)}</div>`;
    kept.current[slot] = { parts: left < 0 && before !== left ? null : parts, node: slots[slot] };
  }
  isLate.current = left < 0;
  useLayoutEffect(() => { if (isLate.current) scrolled(); });
  const hasActive = active >= seen.first && active < end;
  return html`<div ref=${box} class=${`vl ${extra}`} role="listbox" tabindex="0" aria-label=${label} onScroll=${scrolled} onKeyDown=${pressed}
    onClick=${clicked} aria-activedescendant=${hasActive ? `${id}-${active}` : undefined}>
    <div ref=${space} class="vl-space" role="none"><div ref=${rows} class="vl-rows" role="none">${slots}</div></div>
  </div>`;
}
