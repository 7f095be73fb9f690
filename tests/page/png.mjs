// PNG files with a palette of 256 colours, which a page of few colours does not lose anything by.
import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);

/** A PNG of 8 bits a channel without interlacing, as browsers make it, with the 256 colours that it has most of. */
export function quantised(png) {
  const { width, height, pixels } = decode(png);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const palette = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([colour]) => colour);
  const nearest = new Map(palette.map((colour, n) => [colour, n]));
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const colour = pixels[y * width + x];
      if (!nearest.has(colour)) nearest.set(colour, find(palette, colour));
      rows[y * (width + 1) + 1 + x] = nearest.get(colour);
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  return Buffer.concat([SIGNATURE, chunk('IHDR', header), chunk('PLTE', colours), chunk('IDAT', deflateSync(rows, { level: 9 })), chunk('IEND', Buffer.alloc(0))]);
}

function find(palette, colour) {
  let [best, least] = [0, Infinity];
  for (const [n, one] of palette.entries()) {
    const [r, g, b] = [16, 8, 0].map((shift) => ((one >> shift) & 255) - ((colour >> shift) & 255));
    const distance = r * r + g * g + b * b;
    if (distance < least) [best, least] = [n, distance];
  }
  return best;
}

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

function decode(png) {
  let [width, height, channels] = [0, 0, 3];
  const data = [];
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    const body = png.subarray(at + 8, at + 8 + length);
    const name = png.toString('latin1', at + 4, at + 8);
    if (name === 'IHDR') [width, height, channels] = [body.readUInt32BE(0), body.readUInt32BE(4), body[9] === 6 ? 4 : 3];
    if (name === 'IDAT') data.push(body);
    at += length + 12;
  }
  const raw = inflateSync(Buffer.concat(data));
  const line = width * channels;
  const pixels = new Uint32Array(width * height);
  let above = Buffer.alloc(line);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (line + 1)];
    const row = Buffer.from(raw.subarray(y * (line + 1) + 1, (y + 1) * (line + 1)));
    for (let n = 0; n < line; n += 1) {
      const [left, up, corner] = [n < channels ? 0 : row[n - channels], above[n], n < channels ? 0 : above[n - channels]];
      row[n] += [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
    }
    for (let x = 0; x < width; x += 1) pixels[y * width + x] = (row[x * channels] << 16) | (row[x * channels + 1] << 8) | row[x * channels + 2];
    above = row;
  }
  return { width, height, pixels };
}

function paeth(left, up, corner) {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}
