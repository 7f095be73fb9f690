// Plugins: a component is dropped on the page, inspected, added with one grant, changed, replaced and rolled back.
import { readFileSync } from 'node:fs';
import { FORMS, Watched, api, assert, check, equal, play, say, until } from './lib.mjs';

const [FIRST, SECOND] = [process.env.FIRST_VERSION, process.env.SECOND_VERSION].map((path) => readFileSync(path));

await play(async (browser) => {
  for (const form of FORMS) await plugins(browser, form);
});

/** Drops a file on the view, as the system does. */
async function drop(page, name, bytes) {
  await page.locator('.view.plugins').evaluate((view, [file, base64]) => {
    const data = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([data], file, { type: 'application/wasm' }));
    for (const type of ['dragover', 'drop']) view.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
  }, [name, bytes.toString('base64')]);
}

async function plugins(browser, form) {
  const one = await Watched.open(browser, form, { expects: [/status of 400/] });
  const { page } = one;
  const step = (sentence, show) => check(`${form.name}: ${sentence}`, show);
  const name = `upper-${form.name}`;
  const held = async () => {
    const { plugins: all } = await api('GET', '/v1/plugins');
    return (all.find((plugin) => plugin.name === name)?.wants ?? []).filter((want) => want.held).map((want) => want.grant);
  };
  const answer = async () => (await say(`http:${name}`, 'hello')).model_output;
  const box = (grant) => page.locator('.grant').filter({ hasText: grant }).getByRole('checkbox');

  await step('the embedded plugins are listed', async () => {
    await one.go('plugins');
    await page.locator('.plugin-list').getByText('memory').first().waitFor();
  });
  await one.isAccessible('the plugins');
  await step('a file that is no component says so', async () => {
    await drop(page, 'noise.wasm', Buffer.from('no component'));
    await one.sees('The server cannot load this file as a plugin');
    await one.isAccessible('a file that is no component');
    await one.get('button', 'Cancel').click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
  await step('a dropped component is inspected before anything of it runs', async () => {
    await drop(page, `${name}.wasm`, FIRST);
    const dialog = one.get('dialog', 'Add a plugin');
    await dialog.getByText('Says all in capitals.').waitFor();
    const text = await dialog.innerText();
    for (const word of ['1.0.0', 'build-prompt', 'to hear it', 'tape:read', 'to read it']) assert(text.includes(word), `${word}: ${text}`);
    equal(await dialog.getByRole('checkbox', { checked: true }).count(), 0);
    equal(await held(), []);
  });
  await one.isAccessible('the dialog that adds a plugin');
  await step('it is added with one of its grants', async () => {
    await box('hook:build-prompt').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('region', { name }).waitFor();
    equal(await held(), ['hook:build-prompt']);
    equal(await answer(), 'you said: HELLO');
  });
  await step('its calls are counted', async () => {
    await page.reload();
    await one.get('group', 'Calls by hook').getByText('build-prompt').waitFor();
  });
  await one.isAccessible('a plugin');
  await step('a grant that is changed elsewhere is seen at once', async () => {
    await api('POST', `/v1/plugins/${name}/grant`, { grants: ['tape:read'] });
    await until(() => box('tape:read').isChecked(), 'the second grant');
  });
  await step('a grant is revoked after a question', async () => {
    await box('hook:build-prompt').uncheck();
    await one.get('button', 'Apply the changes').click();
    await one.isAccessible('the question before grants are changed');
    await page.getByRole('dialog').getByRole('button', { name: 'Apply', exact: true }).click();
    await until(async () => JSON.stringify(await held()) === '["tape:read"]', 'one grant');
    equal(await answer(), 'you said: hello');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });
  await step('another version replaces it, and shows what changes', async () => {
    await page.locator('.plugins input[type=file]').setInputFiles({ name: `${name}.wasm`, mimeType: 'application/wasm', buffer: SECOND });
    const dialog = one.get('dialog', 'Replace a plugin');
    await dialog.getByText('It replaces version 1.0.0.').waitFor();
    await one.isAccessible('the dialog that replaces a plugin');
    await dialog.getByRole('button', { name: 'Replace' }).click();
    await page.getByRole('region', { name }).getByText('2.0.0').waitFor();
  });
  await step('the earlier version is rolled back, with its grants', async () => {
    await one.get('button', 'Roll back').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
    await page.getByRole('region', { name }).getByText('1.0.0').waitFor();
    equal(await held(), ['tape:read']);
  });
  await one.close();
}
