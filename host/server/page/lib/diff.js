// Differences between two texts, by lines.

const MAX_CELLS = 4_000_000;

/**
 * The lines of both texts in order.
 * @returns {{type: 'same'|'added'|'removed', text: string}[]}
 */
export function diffLines(before, after) {
  const a = before ? before.split('\n') : [];
  const b = after ? after.split('\n') : [];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const same = (text) => ({ type: 'same', text });
  return [
    ...a.slice(0, start).map(same),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...(end ? a.slice(-end) : []).map(same),
  ];
}

function middle(a, b) {
  const removed = (text) => ({ type: 'removed', text });
  const added = (text) => ({ type: 'added', text });
  const [rows, columns] = [a.length + 1, b.length + 1];
  if (!a.length || !b.length || rows * columns > MAX_CELLS) return [...a.map(removed), ...b.map(added)];
  // Lengths of the longest common subsequences of the rests.
  const lengths = new Uint32Array(rows * columns);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i * columns + j] = a[i] === b[j]
        ? lengths[(i + 1) * columns + j + 1] + 1
        : Math.max(lengths[(i + 1) * columns + j], lengths[i * columns + j + 1]);
    }
  }
  const result = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) { result.push({ type: 'same', text: a[i] }); i += 1; j += 1; }
    else if (lengths[(i + 1) * columns + j] >= lengths[i * columns + j + 1]) { result.push(removed(a[i])); i += 1; }
    else { result.push(added(b[j])); j += 1; }
  }
  return [...result, ...a.slice(i).map(removed), ...b.slice(j).map(added)];
}
