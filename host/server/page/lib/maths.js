// Formulas as MathML. The renderer is loaded with the first formula, and its tree becomes vnodes of known elements.
import { h, html, useEffect, useState } from './html.js';
import { loadScript } from './script.js';

const ELEMENTS = new Set(['math', 'semantics', 'mrow', 'mi', 'mn', 'mo', 'ms', 'mtext', 'mspace', 'mfrac', 'msqrt', 'mroot', 'msub', 'msup',
  'msubsup', 'munder', 'mover', 'munderover', 'mmultiscripts', 'mprescripts', 'mtable', 'mtr', 'mtd', 'mstyle', 'mpadded', 'mphantom', 'menclose', 'merror']);
const REFUSED = /^(?:on|href|src|style$|id$|xlink|class)/i;
const MAX_SOURCE = 4000;

/**
 * A formula in TeX's notation; the source until the renderer is there, or where it cannot be read.
 * @param {{source: string, isBlock?: boolean}} props
 */
export function Maths({ source, isBlock }) {
  const [tree, setTree] = useState(null);
  useEffect(() => {
    let isCurrent = true;
    if (source.length > MAX_SOURCE) return undefined;
    loadScript('temml.js', 'temml').then((temml) => {
      const options = { displayMode: Boolean(isBlock), throwOnError: true, maxExpand: 200, maxSize: [20, 20], trust: false };
      const made = convert(temml.__renderToMathMLTree(source, options));
      if (isCurrent) setTree(made);
    }).catch(() => { /* The source stays. */ });
    return () => { isCurrent = false; };
  }, [source, isBlock]);
  if (!tree) return html`<code class="tex" dir="ltr">${source}</code>`;
  return html`<span class=${isBlock ? 'maths is-block' : 'maths'} dir="ltr" tabindex=${isBlock ? 0 : undefined}>${tree}</span>`;
}

function convert(node) {
  if (node.text !== undefined && !node.type) return node.text;
  if (!ELEMENTS.has(node.type)) return (node.children ?? []).map(convert);
  const attributes = {};
  for (const [name, value] of Object.entries(node.attributes ?? {})) {
    if (!REFUSED.test(name)) attributes[name] = value;
  }
  const classes = (node.classes ?? []).filter((name) => typeof name === 'string' && name.startsWith('tml-'));
  if (classes.length) attributes.class = classes.join(' ');
  return h(node.type, attributes, (node.children ?? []).map(convert));
}
