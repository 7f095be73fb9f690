// A conversation: streamed, with tools and files, stopped, steered, forked, renamed, and resumed after a broken connection.
import { FORMS, Watched, api, assert, check, equal, play, say, sessionPath, until } from './lib.mjs';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const BEGINNING = 'The beginning of a long answer,';
const WHOLE = 'The beginning of a long answer, and its end.';

const count = (texts, text) => texts.filter((one) => one.includes(text)).length;

await play(async (browser) => {
  for (const form of FORMS) await talk(browser, form);
});

async function talk(browser, form) {
  const one = await Watched.open(browser, form);
  const { page } = one;
  const step = (sentence, show) => check(`${form.name}: ${sentence}`, show);
  const sessionOf = () => decodeURIComponent(page.url().split('/#/talk/')[1] ?? '');
  const live = page.locator('.is-live');
  let session;

  await step('a new session begins with a button', async () => {
    await one.go('talk');
    await one.get('button', 'New session').first().click();
    await one.field().waitFor();
    session = sessionOf();
    assert(session.startsWith('http:'), session);
  });
  await one.isAccessible('talk in an empty session');

  await step('an answer is shown while it is streamed', async () => {
    await one.says(`wait at first-${form.name}`);
    await one.sees(`wait at first-${form.name}`);
    await live.getByText(BEGINNING).waitFor();
    equal(await page.getByText('and its end.').count(), 0);
  });
  await one.isAccessible('talk while an answer is streamed');
  await step('the whole answer is there once, and is told to screen readers', async () => {
    await say('http:opener', `open first-${form.name}`);
    await one.settles();
    equal([count(await one.messages('user'), 'wait at first'), count(await one.messages('assistant'), WHOLE)], [1, 1]);
    assert((await page.locator('#live').innerText()).includes(WHOLE));
  });

  await step('a tool call is folded, and has its arguments and its result', async () => {
    await one.says('read note.txt');
    await one.sees(/The tool said: heron/);
    await one.settles();
    const call = page.locator('details.call').last();
    equal(await call.getAttribute('open'), null);
    await call.locator('summary').click();
    const body = call.locator('.call-body');
    await body.waitFor();
    const text = await body.innerText();
    for (const word of ['path', 'note.txt', 'heron']) assert(text.includes(word), text);
  });
  await one.isAccessible('talk with an unfolded tool call');

  await step('a tool call says how long it took, after a reload too', async () => {
    await page.reload();
    const state = page.locator('details.call').last().locator('.call-state');
    await until(async () => await state.count() === 1 && /\d+ m?s/.test(await state.innerText()), 'the duration of the call');
  });

  await step('a picture is attached by paste, and stands on the tape', async () => {
    await one.field().fill('look at this');
    await one.field().evaluate((field, png) => {
      const bytes = Uint8Array.from(atob(png), (c) => c.charCodeAt(0));
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File([bytes], 'point.png', { type: 'image/png' }));
      field.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    }, PNG);
    await page.locator('.files .chip').getByText('point.png').waitFor();
    await one.isAccessible('talk with an attachment');
    await one.field().press('Enter');
    await page.locator('.items .msg.user img').waitFor();
    await one.settles();
  });

  await step('a turn is stopped from the field', async () => {
    await one.says(`wait at stopped-${form.name}`);
    await live.getByText(BEGINNING).waitFor();
    await one.get('button', 'Stop the turn').waitFor();
    await one.field().press('Escape');
    await one.settles();
    await until(async () => (await api('GET', '/v1/running')).turns.length === 0, 'no running turn');
    equal(count(await one.messages('user'), `wait at stopped-${form.name}`), 1);
  });

  await step('a message that is sent meanwhile steers the turn', async () => {
    const turns = async () => (await api('GET', sessionPath(session, '/entries?kind=event&max=256'))).entries.filter((entry) => entry.payload.name === 'loop.start').length;
    const before = await turns();
    await one.says(`wait at steered-${form.name}`);
    await live.getByText(BEGINNING).waitFor();
    await one.says('look at the stork');
    await one.sees('look at the stork');
    await say('http:opener', `open steered-${form.name}`);
    await one.sees('you said: look at the stork');
    await one.settles();
    const users = await one.messages('user');
    equal([count(users, 'look at the stork'), count(users, `wait at steered-${form.name}`)], [1, 1]);
    equal(await turns(), before + 1, 'turns');
  });

  await step('a message is edited and retried in a fork', async () => {
    const original = session;
    const message = page.locator('.items .msg.user').filter({ hasText: 'read note.txt' });
    await message.hover();
    await message.getByRole('button', { name: 'Actions for this message' }).click();
    await one.get('menuitem', 'Edit in a fork').click();
    const dialog = one.get('dialog', 'Edit in a fork');
    await dialog.getByLabel('Message').fill('an edited message');
    await one.isAccessible('the dialog that edits a message');
    await dialog.getByRole('button', { name: 'Send in the fork' }).click();
    await one.sees('you said: an edited message');
    await one.settles();
    session = sessionOf();
    assert(session !== original, session);
    equal([count(await one.messages('user'), 'read note.txt'), count(await one.messages('user'), 'wait at first')], [0, 1]);
    const { entries } = await api('GET', sessionPath(original, '/entries?kind=message&max=256'));
    assert(!JSON.stringify(entries).includes('an edited message'), 'the original session changed');
  });

  await step('the last answer is generated again, in a fork', async () => {
    const before = session;
    await one.get('button', 'Regenerate in a fork').click();
    await until(() => sessionOf() !== before, 'another session');
    await one.sees('you said: an edited message');
    await one.settles();
    session = sessionOf();
    equal(count(await one.messages('user'), 'an edited message'), 1);
  });

  await step('a comma opens the commands, and Tab completes one', async () => {
    await one.field().pressSequentially(',mem');
    await one.get('listbox', 'Commands').waitFor();
    await one.isAccessible('talk with completion');
    await one.field().press('ArrowDown');
    await one.field().press('Tab');
    assert(/^,memory\.\w+ $/.test(await one.field().inputValue()), await one.field().inputValue());
    await one.field().fill(',help');
    await one.field().press('Enter');
    await page.locator('.items .msg.command').waitFor();
    await one.settles();
  });

  await step('a session is renamed', async () => {
    await one.get('button', 'Actions for this session').click();
    await one.get('menuitem', 'Rename').click();
    const dialog = one.get('dialog', 'Rename the session');
    await dialog.getByLabel('Name').fill(`Birds ${form.name}`);
    await one.isAccessible('the dialog that renames');
    await dialog.getByRole('button', { name: 'Rename' }).click();
    await one.get('heading', `Birds ${form.name}`).waitFor();
  });

  await step('a draft survives a reload, with its files', async () => {
    await one.field().fill('a draft');
    await page.locator('.composer input[type=file]').setInputFiles({ name: 'kept.txt', mimeType: 'text/plain', buffer: Buffer.from('kept') });
    await page.locator('.files .chip').waitFor();
    await page.waitForTimeout(400);
    await page.reload();
    await one.field().waitFor();
    equal(await one.field().inputValue(), 'a draft');
    await page.locator('.files .chip', { hasText: 'kept.txt' }).waitFor();
    await page.locator('.files .chip button').click();
    await one.field().fill('');
    await page.waitForTimeout(400);
    await page.reload();
    await one.field().waitFor();
    await page.waitForTimeout(400);
    equal(await page.locator('.files .chip').count(), 0);
  });

  await step('sessions are searched by their names', async () => {
    if (form.isNarrow) await one.get('link', 'All sessions').click();
    const rows = page.locator('.session-list .session');
    await rows.first().waitFor();
    const all = await rows.count();
    await page.getByLabel('Search sessions').fill(`birds ${form.name}`);
    await until(async () => await rows.count() === 1);
    assert(all > 1, all);
    await one.isAccessible('talk with a search');
    await rows.first().getByRole('link').click();
    await one.field().waitFor();
  });

  await step('an answer whose connection broke goes on without loss or doubling', async () => {
    one.expects.push(/ERR_INTERNET_DISCONNECTED|ERR_NETWORK/);
    await one.says(`wait at broken-${form.name}`);
    await live.getByText(BEGINNING).waitFor();
    await one.context.setOffline(true);
    await say('http:opener', `open broken-${form.name}`);
    await until(async () => (await api('GET', '/v1/running')).turns.length === 0, 'no running turn');
    await one.says('sent while offline');
    await one.sees(/The server is unreachable/);
    await one.isAccessible('talk without a connection');
    await one.context.setOffline(false);
    await one.sees('you said: sent while offline');
    await one.settles();
    const [users, answers] = [await one.messages('user'), await one.messages('assistant')];
    equal([count(users, `wait at broken-${form.name}`), count(users, 'sent while offline')], [1, 1]);
    equal([count(answers, WHOLE), count(answers, 'you said: sent while offline')], [2, 1], answers.join(' | '));
    const { entries } = await api('GET', sessionPath(session, '/entries?kind=message&max=256'));
    equal(entries.filter((entry) => entry.payload.role === 'user' && JSON.stringify(entry).includes('sent while offline')).length, 1);
  });

  await step('an archived session leaves the list', async () => {
    await one.get('button', 'Actions for this session').click();
    await one.get('menuitem', 'Archive').click();
    await one.isAccessible('the question before an archive');
    await one.get('dialog', 'Archive the session?').getByRole('button', { name: 'Archive' }).click();
    await one.sees(/Archived as/);
    await until(async () => await page.locator('.session-list').getByText(`Birds ${form.name}`).count() === 0);
    const { sessions } = await api('GET', '/v1/sessions');
    assert(!sessions.some((other) => other.session_id === session), session);
  });
  await one.close();
}
