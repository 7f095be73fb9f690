// Sign-in by link and by token, sign-out, and a login that ends while a message is written.
import { BASE, FORMS, LINKS, TOKEN, Watched, assert, check, equal, play } from './lib.mjs';

// A browser logs each answer 401 as an error of its own.
const REFUSED = /status of 401/;

await play(async (browser) => {
  for (const [n, form] of FORMS.entries()) {
    const one = await Watched.open(browser, form, { token: null, expects: [REFUSED] });
    const { page } = one;
    const name = (sentence) => `${form.name}: ${sentence}`;
    const field = page.getByLabel('One-time code or token');

    await check(name('without a login the sign-in is shown'), async () => {
      await page.goto(BASE);
      await field.waitFor();
    });
    await one.isAccessible('sign-in');
    await check(name('a wrong token is refused in words'), async () => {
      await field.fill('wrong');
      await field.press('Enter');
      await one.sees('This code or token is unknown, used or expired.');
    });
    await one.isAccessible('sign-in refused');
    await check(name('a link signs in, and its code leaves the address'), async () => {
      await page.goto(LINKS[n]);
      await one.get('navigation', 'Views').waitFor();
      equal(new URL(page.url()).hash, '#/talk');
      const cookies = await one.context.cookies();
      assert(cookies.every((cookie) => cookie.httpOnly && cookie.sameSite === 'Strict'), cookies);
    });
    await check(name('no script of the page sees the login'), async () => {
      equal(await page.evaluate(() => document.cookie), '');
      const stored = await page.evaluate(() => JSON.stringify({ ...localStorage }));
      assert(!stored.includes(TOKEN), stored);
    });
    await check(name('the link works once'), async () => {
      const other = await Watched.open(browser, form, { token: null, expects: [REFUSED] });
      await other.page.goto(LINKS[n]);
      await other.sees('This link was used or has expired.');
      await other.close();
    });
    await check(name('a sign-out is one, also after a reload'), async () => {
      await one.get('button', 'Settings').click();
      await one.get('menuitem', /Sign out/).click();
      await one.sees('You are signed out.');
      await page.reload();
      await field.waitFor();
    });
    await check(name('a token signs in'), async () => {
      await field.fill(TOKEN);
      await field.press('Enter');
      await one.get('navigation', 'Views').waitFor();
    });
    await check(name('a login that has ended leads to the sign-in'), async () => {
      await one.get('button', 'New session').first().click();
      await one.field().fill('a draft that is worth keeping');
      const out = await one.context.request.post(`${BASE}/v1/logout`, { data: {} });
      assert(out.ok(), `${out.status()}`);
      // The page may have noticed by itself.
      await one.field().press('Enter', { timeout: 1000 }).catch(() => {});
      await one.sees('The session of this browser has ended. Drafts are kept.');
    });
    await one.isAccessible('sign-in after the end');
    await check(name('after the next sign-in the draft is there, and was not sent'), async () => {
      await field.fill(TOKEN);
      await field.press('Enter');
      await one.field().waitFor();
      equal(await one.field().inputValue(), 'a draft that is worth keeping');
      equal(await page.locator('.msg').count(), 0);
    });
    await check(name('a token without the scope `admin` sees no questions to decide'), async () => {
      const other = await Watched.open(browser, form, { token: process.env.PHONE, expects: [/status of 403/] });
      await other.go('decide');
      await other.sees('Decisions need a token with the scope `admin`.');
      await other.close();
    });
    await one.close();
  }
});
