// Figures: bytes of the first load, first paint, answer to a key, and a long tape that is scrolled. Bytes have bounds;
// times are printed, with generous deadlines, because a machine of tests is not quiet.
import { BASE, FORMS, Watched, assert, check, equal, play, say } from './lib.mjs';

const FIRST_LOAD_BYTES = 120_000;
const SCROLL_BYTES = 1_000_000;
const DEADLINE_MS = 5000;
const STEPS = 120;

const figure = (name, text) => console.log(`figure: ${name}: ${text}`);
const sorted = (values) => [...values].sort((a, b) => a - b);
const at = (values, share) => sorted(values)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN;
const ms = (value) => `${value.toFixed(1)} ms`;

await play(async (browser) => {
  const [form] = FORMS;
  await load(browser, form);
  const one = await Watched.open(browser, form);
  await paint(one);
  await keys(one);
  await scroll(one);
  await one.close();
});

/** Counts what comes over the wire, headers included. */
async function wire(one) {
  const client = await one.context.newCDPSession(one.page);
  const found = { bytes: 0, requests: 0, urls: new Map(), parts: new Map() };
  await client.send('Network.enable');
  client.on('Network.requestWillBeSent', ({ requestId, request }) => found.urls.set(requestId, request.url));
  client.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    const url = found.urls.get(requestId);
    if (!url?.startsWith('http')) return;
    found.bytes += encodedDataLength;
    found.requests += 1;
    const { pathname } = new URL(url);
    const part = pathname.startsWith('/v1/') ? pathname.split('/').at(-1) : 'page';
    found.parts.set(part, (found.parts.get(part) ?? 0) + encodedDataLength);
  });
  return found;
}

async function settled(page) {
  await page.waitForLoadState('load');
  await page.waitForTimeout(700);
}

async function load(browser, form) {
  const one = await Watched.open(browser, form);
  await check(`the first load has at most ${FIRST_LOAD_BYTES} bytes`, async () => {
    const found = await wire(one);
    await one.page.goto(BASE);
    await one.get('button', 'New session').first().waitFor();
    await settled(one.page);
    figure('first load', `${found.bytes} bytes in ${found.requests} requests (${[...found.parts].map(([part, bytes]) => `${part} ${bytes}`).join(', ')})`);
    assert(found.bytes > 10_000 && found.bytes <= FIRST_LOAD_BYTES, found.bytes);
  });
  await check('a second load takes the files from the cache', async () => {
    const found = await wire(one);
    await one.page.reload();
    await one.get('button', 'New session').first().waitFor();
    await settled(one.page);
    figure('second load', `${found.bytes} bytes in ${found.requests} requests`);
    assert(found.bytes < FIRST_LOAD_BYTES / 2, found.bytes);
  });
  await one.close();
}

async function paint({ page, ...one }) {
  await check('the first paint comes', async () => {
    const times = [];
    for (let n = 0; n < 8; n += 1) {
      await page.goto(`${BASE}/#/talk`);
      await page.reload();
      await page.locator('.sessions').waitFor();
      const entries = await page.evaluate(() => performance.getEntriesByType('paint').map(({ name, startTime }) => [name, startTime]));
      times.push(entries.find(([name]) => name === 'first-contentful-paint')[1]);
    }
    // The first loads warm the browser up.
    const warm = times.slice(3);
    figure('first paint, warm', `median ${ms(at(warm, 0.5))}, best ${ms(at(warm, 0))}, worst ${ms(at(warm, 1))}`);
    assert(at(warm, 0.5) < DEADLINE_MS, warm);
  });
  return one;
}

async function keys(one) {
  const { page } = one;
  await check('a key is answered', async () => {
    await say('http:short', 'hello');
    await one.go('talk', 'http:short');
    await page.locator('.items .msg').first().waitFor();
    await one.field().click();
    await page.evaluate(() => {
      globalThis.__keys = [];
      document.querySelector('.composer textarea').addEventListener('keydown', (event) => {
        requestAnimationFrame(() => { const { port1, port2 } = new MessageChannel(); port1.onmessage = () => globalThis.__keys.push(performance.now() - event.timeStamp); port2.postMessage(0); });
      });
    });
    for (let n = 0; n < 50; n += 1) { await page.keyboard.press('abcdefghij'[n % 10]); await page.waitForTimeout(30); }
    const times = (await page.evaluate(() => globalThis.__keys)).slice(10);
    figure('a key to the next frame', `median ${ms(at(times, 0.5))}, 95 % ${ms(at(times, 0.95))}, worst ${ms(at(times, 1))}`);
    assert(at(times, 0.5) < DEADLINE_MS / 5, times);
    await one.field().fill('');
  });
}

async function scroll(one) {
  const { page } = one;
  const timeline = page.locator('.timeline');
  const found = await check('a long tape opens at its end', async () => {
    const counted = await wire(one);
    await one.go('tape', 'http:long');
    await timeline.locator('.vl-row').first().waitFor();
    await timeline.getByText(process.env.ENTRIES, { exact: true }).first().waitFor();
    figure('a long tape opened', `${counted.bytes} bytes in ${counted.requests} requests`);
    equal(await timeline.locator('.vl-row').first().getAttribute('aria-setsize'), process.env.ENTRIES);
    return counted;
  });
  await check(`scrolled from its end to its beginning, it fetches at most ${SCROLL_BYTES} bytes`, async () => {
    const before = found.bytes;
    const events = await traced(one, async () => {
      // A wheel near both ends, and steps between: each is seen for some frames.
      await timeline.hover();
      for (let n = 0; n < 40; n += 1) { await page.mouse.wheel(0, -400); await page.waitForTimeout(25); }
      // In one script, so that the test's own messages to the page are not work of its main thread.
      await timeline.evaluate(async (box, steps) => {
        for (let n = steps; n >= 0; n -= 1) {
          box.scrollTop = (box.scrollHeight - box.clientHeight) * (n / steps);
          await new Promise((done) => { setTimeout(done, 40); });
        }
      }, STEPS);
    });
    await timeline.locator('.t-id').getByText('1', { exact: true }).waitFor();
    await timeline.getByText('phase/0').first().waitFor();
    const bytes = found.bytes - before;
    figure('a long tape scrolled', `${bytes} bytes in ${STEPS + 41} steps`);
    assert(bytes > 0 && bytes <= SCROLL_BYTES, bytes);
    frames(events);
  });
  await check('the last row and the first are reached by keys', async () => {
    await timeline.focus();
    await page.keyboard.press('End');
    await timeline.getByText(process.env.ENTRIES, { exact: true }).first().waitFor();
    await page.keyboard.press('Home');
    await timeline.locator('.t-id').getByText('1', { exact: true }).waitFor();
  });
}

/** The events of the browser's own trace while `act` runs. */
async function traced(one, act) {
  const client = await one.context.newCDPSession(one.page);
  const events = [];
  client.on('Tracing.dataCollected', ({ value }) => events.push(...value));
  await client.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'toplevel'] } });
  await act();
  const complete = new Promise((resolve) => { client.once('Tracing.tracingComplete', resolve); });
  await client.send('Tracing.end');
  await complete;
  return events;
}

/** The work of the main thread for each frame, from the one before on: by the wall, and without what other processes took of it. */
function frames(events) {
  const thread = (event) => `${event.pid}/${event.tid}`;
  const counts = new Map();
  for (const event of events) if (event.name === 'FireAnimationFrame') counts.set(thread(event), (counts.get(thread(event)) ?? 0) + 1);
  const [main] = [...counts].sort((a, b) => b[1] - a[1])[0] ?? [];
  const own = events.filter((event) => thread(event) === main).sort((a, b) => a.ts - b.ts);
  // A frame ends with the task that hands it to the compositor.
  const commits = own.filter((event) => event.name === 'Commit').map((event) => event.ts);
  const work = [];
  let sum = { wall: 0, own: 0 };
  let next = 0;
  for (const { ts, dur, tdur } of own.filter((event) => event.name === 'RunTask' && event.dur)) {
    sum = { wall: sum.wall + dur / 1000, own: sum.own + (tdur ?? dur) / 1000 };
    if (commits[next] > ts + dur || next === commits.length) continue;
    while (commits[next] <= ts + dur) next += 1;
    work.push(sum);
    sum = { wall: 0, own: 0 };
  }
  const told = (values) => `median ${ms(at(values, 0.5))}, 95 % ${ms(at(values, 0.95))}, worst ${ms(at(values, 1))}`;
  figure('main thread a frame while scrolling', `${told(work.map((frame) => frame.wall))} (${work.length} frames)`);
  figure('of that, its own processor time', told(work.map((frame) => frame.own)));
  assert(work.length > 10, work.length);
}
