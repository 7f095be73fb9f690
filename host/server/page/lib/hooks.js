// Hooks for requests, keys and custom properties.
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from './html.js';
import { on } from './api.js';
import { hasKeys } from './prefs.js';

/**
 * Runs a request whenever `inputs` change. The value of the last one stays while the next runs.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} run
 * @param {unknown[]} inputs
 * @returns {{value: T|undefined, error: Error|null, isBusy: boolean, reload: () => void, set: (value: T) => void}}
 */
export function useAsync(run, inputs) {
  const [state, setState] = useState({ value: undefined, error: null, isBusy: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    setState((last) => ({ ...last, isBusy: true }));
    Promise.resolve().then(() => run(abort.signal)).then(
      (value) => { if (!abort.signal.aborted) setState({ value, error: null, isBusy: false }); },
      (error) => { if (!abort.signal.aborted) setState((last) => ({ value: last.value, error, isBusy: false })); },
    );
    return () => abort.abort();
  }, [...inputs, round]);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  const isOffline = Boolean(state.error?.isOffline);
  useEffect(() => (isOffline ? on('connection', (isConnected) => { if (isConnected) reload(); }) : undefined), [isOffline]);
  const set = useCallback((value) => setState({ value, error: null, isBusy: false }), []);
  return { ...state, reload, set };
}

/**
 * An action that a control starts: it is not started twice, and its failure is shown.
 * @param {(...values: any[]) => Promise<any>} run
 * @returns {{isBusy: boolean, error: Error|null, start: (...values: any[]) => Promise<any>, clear: () => void}}
 */
export function useAction(run) {
  const [state, setState] = useState({ isBusy: false, error: null });
  const isMounted = useRef(true);
  useEffect(() => { isMounted.current = true; return () => { isMounted.current = false; }; }, []);
  const running = useRef(false);
  const start = async (...values) => {
    if (running.current) return undefined;
    running.current = true;
    setState({ isBusy: true, error: null });
    try {
      const value = await run(...values);
      if (isMounted.current) setState({ isBusy: false, error: null });
      return value;
    } catch (error) {
      if (isMounted.current) setState({ isBusy: false, error });
      return undefined;
    } finally {
      running.current = false;
    }
  };
  return { ...state, start, clear: () => setState({ isBusy: false, error: null }) };
}

/**
 * Whether an event happened where text is typed.
 * @param {Event} event
 * @returns {boolean}
 */
export function isTyping(event) {
  const at = event.target;
  return at instanceof HTMLElement && (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName));
}

/**
 * Handles keys of the whole page: `{key: handler}`. Single keys count only where no text is typed, no dialog is open and
 * the user has not turned them off.
 */
export function useKeys(keys, inputs = []) {
  useEffect(() => {
    const pressed = (event) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
      const handler = keys[event.key];
      if (!handler || document.querySelector('dialog[open]')) return;
      if (event.key.length === 1 && (isTyping(event) || !hasKeys.value)) return;
      if (handler(event) !== false) event.preventDefault();
    };
    document.addEventListener('keydown', pressed);
    return () => document.removeEventListener('keydown', pressed);
  }, inputs);
}

/**
 * A ref that sets custom properties, which the policy of the page permits where it refuses style attributes.
 * @param {Record<string, string>} values
 */
export function useVars(values) {
  const ref = useRef(null);
  useLayoutEffect(() => {
    for (const [name, value] of Object.entries(values)) ref.current?.style.setProperty(name, value);
  });
  return ref;
}

/**
 * A value that follows `value` after it has not changed for so many milliseconds.
 * @param {any} value
 * @param {number} ms
 */
export function useSettled(value, ms) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

/**
 * Pixels of so many `rem`, whole ones. Wide screens have larger letters.
 * @param {number} n
 * @returns {number}
 */
export function useRem(n) {
  const read = () => Math.round(n * parseFloat(getComputedStyle(document.documentElement).fontSize));
  const [pixels, setPixels] = useState(read);
  useEffect(() => {
    const changed = () => setPixels(read());
    changed();
    addEventListener('resize', changed);
    return () => removeEventListener('resize', changed);
  }, [n]);
  return pixels;
}

/**
 * Whether the page has the width of a phone.
 * @returns {boolean}
 */
export function useNarrow() {
  const [media] = useState(() => matchMedia('(max-width: 760px)'));
  const [isNarrow, setNarrow] = useState(media.matches);
  useEffect(() => {
    const changed = () => setNarrow(media.matches);
    media.addEventListener('change', changed);
    return () => media.removeEventListener('change', changed);
  }, [media]);
  return isNarrow;
}
