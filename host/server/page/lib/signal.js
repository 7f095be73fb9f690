// Values that several parts of the page show.
import { useEffect, useState } from './html.js';

/**
 * A value with subscribers.
 * @template T
 * @param {T} value
 * @param {(isUsed: boolean) => void} [onUse] called when the first subscriber comes and after the last one has left
 */
export function signal(value, onUse) {
  const subscribers = new Set();
  return {
    get value() { return value; },
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const subscriber of [...subscribers]) subscriber(value);
    },
    subscribe(subscriber) {
      subscribers.add(subscriber);
      if (subscribers.size === 1) onUse?.(true);
      return () => {
        subscribers.delete(subscriber);
        if (subscribers.size === 0) onUse?.(false);
      };
    },
  };
}

/**
 * The value of a signal; the component is rendered again when it changes.
 * @param {ReturnType<typeof signal>} source
 */
export function useSignal(source) {
  const [, update] = useState(0);
  useEffect(() => {
    let last = source.value;
    const changed = (value) => { if (!Object.is(value, last)) { last = value; update((n) => n + 1); } };
    const end = source.subscribe(changed);
    // The value may have changed between the rendering and this effect.
    update((n) => n + 1);
    return end;
  }, [source]);
  return source.value;
}
