import { html } from '../lib/html.js';
import { Heading } from '../lib/ui.js';

export default function View() {
  return html`<div class="view"><${Heading}>…</${Heading}></div>`;
}
