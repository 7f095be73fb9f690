// Markdown of others as elements. The tokens of `marked` become vnodes: no HTML is parsed, and HTML in a text stays text.
import { html, useMemo, useState } from './html.js';
import { Marked } from '../vendor/marked.js';
import { Maths } from './maths.js';
import { Code, ShowAll } from './ui.js';
import { t } from './i18n.js';
import { clip, lookUp, printable } from './text.js';

// Characters of a message that are shown at first, and those that are read as Markdown at all.
const CLAMP = 12_000;
const MAX_MARKDOWN = 200_000;
const MAX_DEPTH = 16;

const INLINE = /^(?:\\\(([\s\S]+?)\\\)|\$\$([^$]+?)\$\$|\$(?![\s$])((?:[^$\\\n]|\\.)*?[^\s$\\])\$(?!\d))/;
const BLOCK = /^(?: {0,3})(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n|$)/;

const marked = new Marked({
  gfm: true,
  extensions: [
    {
      name: 'maths-block',
      level: 'block',
      start: (source) => source.match(/^ {0,3}(?:\$\$|\\\[)/m)?.index,
      tokenizer(source) {
        const found = BLOCK.exec(source);
        return found && { type: 'maths-block', raw: found[0], text: (found[1] ?? found[2]).trim() };
      },
    },
    {
      name: 'maths',
      level: 'inline',
      start: (source) => source.match(/\$|\\\(/)?.index,
      tokenizer(source) {
        const found = INLINE.exec(source);
        return found && { type: 'maths', raw: found[0], text: found[1] ?? found[2] ?? found[3], isBlock: found[2] !== undefined };
      },
    },
  ],
});

/**
 * A text of others, rendered as Markdown.
 * @param {{text: string, isWhole?: boolean, max?: number}} props `isWhole`: nothing is cut, as in an answer that is being written;
 *   `max`: the characters that are shown at first
 */
export function Markdown({ text, isWhole: isAll, max = CLAMP }) {
  const [isWhole, setWhole] = useState(false);
  const source = printable(text ?? '');
  const isLong = !isAll && source.length > max;
  const shown = isLong && !isWhole ? clip(source, max) : source;
  const content = useMemo(() => render(shown), [shown]);
  return html`<div class="md" dir="auto">${content}
    ${isLong && html`<${ShowAll} isWhole=${isWhole} set=${setWhole} size=${source.length} />`}</div>`;
}

function render(source) {
  if (source.length > MAX_MARKDOWN) return html`<pre class="plain" tabindex="0" dir="auto">${source}</pre>`;
  try {
    return blocks(marked.lexer(source), { depth: 0, outline: { level: 2 } });
  } catch {
    // Nested too deep, for instance.
    return html`<p class="plain" dir="auto">${source}</p>`;
  }
}

function blocks(tokens, at) {
  if (at.depth > MAX_DEPTH) return tokens.map((token) => token.raw).join('');
  // Headings share the count of levels, so that none is skipped in the page's outline.
  const inner = () => ({ depth: at.depth + 1, outline: at.outline });
  return tokens.map((token) => block(token, at, inner));
}

function block(token, at, inner) {
  switch (token.type) {
    case 'space': case 'def': return null;
    case 'hr': return html`<hr />`;
    case 'heading': return heading(token, at);
    case 'code': return html`<${Code} text=${token.text} lang=${token.lang} raw=${false} />`;
    case 'blockquote': return html`<blockquote dir="auto">${blocks(token.tokens, inner())}</blockquote>`;
    case 'list': return list(token, inner);
    case 'table': return table(token);
    case 'maths-block': return html`<${Maths} source=${token.text} isBlock />`;
    case 'paragraph': return html`<p dir="auto">${inline(token.tokens, 0)}</p>`;
    case 'text': return token.tokens ? html`<span dir="auto">${inline(token.tokens, 0)}</span>` : entities(token.text);
    case 'html': return html`<p dir="auto" class="plain">${token.raw.trimEnd()}</p>`;
    default: return token.tokens ? html`<p dir="auto">${inline(token.tokens, 0)}</p>` : token.raw;
  }
}

function heading(token, { outline }) {
  outline.level = Math.min(6, token.depth + 2, outline.level + 1);
  const Tag = `h${outline.level}`;
  return html`<${Tag} class=${`md-h${token.depth}`} dir="auto">${inline(token.tokens, 0)}</${Tag}>`;
}

function list(token, inner) {
  const items = token.items.map((item) => html`<li class=${item.task ? 'is-task' : ''} dir="auto">
    ${item.task && html`<span class="task" role="img" aria-label=${item.checked ? t('done') : t('open')}>${item.checked ? '☑' : '☐'}</span>`}
    ${blocks(item.tokens.filter((part) => part.type !== 'checkbox'), inner())}</li>`);
  return token.ordered ? html`<ol start=${Number(token.start) || 1} dir="auto">${items}</ol>` : html`<ul dir="auto">${items}</ul>`;
}

function table(token) {
  const side = (n) => (token.align[n] ? `is-${token.align[n]}` : '');
  const head = token.header.map((cell, n) => html`<th scope="col" class=${side(n)} dir="auto">${inline(cell.tokens, 0)}</th>`);
  const rows = token.rows.map((row) => html`<tr>${row.map((cell, n) => html`<td class=${side(n)} dir="auto">${inline(cell.tokens, 0)}</td>`)}</tr>`);
  return html`<div class="md-table" tabindex="0" role="group" aria-label=${t('Table')}><table><thead><tr>${head}</tr></thead><tbody>${rows}</tbody></table></div>`;
}

function inline(tokens, depth) {
  if (depth > MAX_DEPTH) return tokens.map((token) => token.raw).join('');
  const inner = (token) => inline(token.tokens ?? [], depth + 1);
  return tokens.map((token) => {
    switch (token.type) {
      case 'text': return token.tokens ? inner(token) : entities(token.text);
      case 'escape': return token.text;
      case 'strong': return html`<strong>${inner(token)}</strong>`;
      case 'em': return html`<em>${inner(token)}</em>`;
      case 'del': return html`<del>${inner(token)}</del>`;
      case 'codespan': return html`<code dir="auto">${token.text}</code>`;
      case 'br': return html`<br />`;
      case 'maths': return html`<${Maths} source=${token.text} isBlock=${token.isBlock} />`;
      case 'link': return link(token.href, inner(token), token.raw);
      case 'image': return link(token.href, t('Image: {name}', { name: clip(token.text || token.href, 80) }), token.raw);
      default: return token.raw;
    }
  });
}

function link(href, content, raw) {
  const url = safeUrl(href);
  if (!url) return html`<span class="no-link" title=${clip(String(href), 200)}>${content?.length ? content : raw}</span>`;
  return html`<a href=${url} rel="noopener noreferrer nofollow" target="_blank" title=${clip(url, 300)}>${content}</a>`;
}

/**
 * An address that a link may have: of the web or of mail.
 * @param {unknown} href
 * @returns {string|null}
 */
export function safeUrl(href) {
  try {
    const url = new URL(href);
    return ['http:', 'https:', 'mailto:'].includes(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

const NAMED = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', copy: '©', hellip: '…', mdash: '—', ndash: '–', rarr: '→' };

function entities(text) {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{1,8}));/gi, (all, decimal, hex, name) => {
    if (name) return lookUp(NAMED, name, all);
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
    return code > 31 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? printable(String.fromCodePoint(code)) : all;
  });
}

/**
 * The words of a Markdown text, for screen readers.
 * @param {string} text
 * @param {number} [max]
 * @returns {string}
 */
export function plainText(text, max = 1200) {
  return clip(String(text).replace(/```[\s\S]*?(```|$)/g, ` ${t('Code')}. `).replace(/[*_`#>|]+/g, '').replace(/\s+/g, ' ').trim(), max);
}
