// Custom sections of WebAssembly components.

/** The component with one more custom section at its end. */
export function withSection(component, name, content) {
  const encoded = Buffer.from(name);
  const body = Buffer.concat([leb(encoded.length), encoded, content]);
  return Buffer.concat([component, Buffer.from([0]), leb(body.length), body]);
}

/** An unsigned number as LEB128. */
function leb(number) {
  const bytes = [];
  for (; number > 0x7f; number >>>= 7) bytes.push((number & 0x7f) | 0x80);
  return Buffer.from([...bytes, number]);
}
