// Streams that all open pages of a browser share. A browser keeps few connections to a server, so one page reads a stream
// and the others hear it from that page.
import { stream } from './api.js';

/**
 * Opens a shared stream. Where the browser has no locks, which need a secure context, this page reads it itself.
 * @param {string} url
 * @param {{onEvent: (name: string, data: any) => void, onState?: (state: string) => void, isSnapshot?: boolean}} options
 *   `isSnapshot`: each event tells all there is, so a page that comes later is told the last one
 * @returns {() => void} closes it for this page
 */
export function sharedStream(url, { onEvent, onState = () => {}, isSnapshot = false }) {
  if (!navigator.locks || !globalThis.BroadcastChannel) return stream(url, { onEvent, onState });
  const name = `bub:${url}`;
  const channel = new BroadcastChannel(name);
  const abort = new AbortController();
  let close = null;
  let release = null;
  let state = null;
  let isEnded = false;
  const tell = (message) => { if (!isEnded) channel.postMessage(message); };
  const kept = new Map();

  channel.onmessage = ({ data }) => {
    if (data.ask) {
      if (!close) return;
      if (state) tell({ state });
      if (isSnapshot) for (const [event, value] of kept) tell({ event, value, isAgain: true });
    } else if (close) { /* This page reads the stream itself. */
    } else if (data.state) onState(data.state);
    else if (!data.isAgain || !kept.has(data.event)) { kept.set(data.event, data.value); onEvent(data.event, data.value); }
  };
  tell({ ask: true });

  navigator.locks.request(name, { signal: abort.signal }, () => new Promise((resolve) => {
    release = resolve;
    close = stream(url, {
      onEvent: (event, value) => {
        kept.set(event, value);
        onEvent(event, value);
        tell({ event, value });
      },
      onState: (now) => {
        if (isEnded) return;
        state = now;
        onState(now);
        tell({ state: now });
      },
    });
  })).catch(() => { /* Closed before this page had the lock. */ });

  return () => {
    isEnded = true;
    close?.();
    release?.();
    abort.abort();
    channel.close();
  };
}
