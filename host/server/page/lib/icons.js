// Line icons of 16 by 16 units. They decorate: each has a text beside it or a label on its control.
import { html } from './html.js';

const SHAPES = {
  talk: 'M2.5 3.5h11v7h-6l-3 2.5v-2.5h-2z',
  decide: 'M8 1.5l5.5 2v4c0 3.4-2.3 5.9-5.5 7-3.2-1.1-5.5-3.6-5.5-7v-4zM5.5 8l1.8 1.8L10.7 6.2',
  tape: 'M2.5 3.5h2M2.5 8h2M2.5 12.5h2M6.5 3.5h7M6.5 8h7M6.5 12.5h7',
  memory: 'M3 2.5h8.5a1.5 1.5 0 0 1 1.5 1.5v9.5H4.5a1.5 1.5 0 0 1-1.5-1.5zM3 12a1.5 1.5 0 0 1 1.5-1.5H13M6 5.5h4',
  plugins: 'M6 2.5v3M10 2.5v3M4 5.5h8v3a4 4 0 0 1-8 0zM8 12.5v2',
  costs: 'M2.5 13.5h11M4 11V8M7 11V4.5M10 11V6.5M13 11V2.5',
  plus: 'M8 3v10M3 8h10',
  search: 'M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3l3.200 3.200',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  close: 'M4 4l8 8M12 4l-8 8',
  back: 'M9.5 3.5L5 8l4.5 4.5',
  down: 'M4 6l4 4 4-4',
  right: 'M6 4l4 4-4 4',
  clip: 'M11.5 7l-4 4a2 2 0 0 1-2.800-2.800l4.800-4.800a2.800 2.800 0 0 1 4 4L8.200 12.7',
  send: 'M8 13.5v-11M3.5 7L8 2.5 12.5 7',
  stop: 'M4.5 4.5h7v7h-7z',
  copy: 'M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1',
  edit: 'M10.5 3l2.5 2.5-7.5 7.5H3v-2.5z',
  again: 'M13 8a5 5 0 1 1-1.5-3.5M13 2v3h-3',
  tool: 'M9.800 6.200L3.5 12.5M12.800 4.7L11 6.5 9.5 5l1.800-1.800a3 3 0 0 0-3.600 4 3 3 0 0 0 4.900 1 3 3 0 0 0 .2-3.5z',
  theme: 'M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11',
  help: 'M6 6a2 2 0 1 1 2.800 1.800c-.5.3-.8.7-.8 1.400M8 11.5h.01M8 14a6 6 0 1 0 0-12 6 6 0 0 0 0 12z',
  out: 'M6.5 2.5h-4v11h4M10 5l3 3-3 3M13 8H6',
  warn: 'M8 2.5l6 11H2zM8 6.5v3M8 11.5h.01',
  file: 'M4 2.5h5l3 3v8H4zM9 2.5v3h3',
  fork: 'M5 5v6M5 5a1.5 1.5 0 1 0 0-.01M5 12.5a1.5 1.5 0 1 0 0-.01M11 5a1.5 1.5 0 1 0 0-.01M11 5c0 4-6 2.5-6 6',
  anchor: 'M8 5v8.5M8 5a1.5 1.5 0 1 0 0-.01M5.5 7.5h5M3 9.5c.3 2.5 2.200 4 5 4s4.7-1.5 5-4',
};

/** An icon by its name. */
export function Icon({ name }) {
  return html`<svg class=${name === 'more' ? 'icon is-dots' : 'icon'} viewBox="0 0 16 16" aria-hidden="true" focusable="false">
    <path d=${SHAPES[name] ?? SHAPES.more} /></svg>`;
}
