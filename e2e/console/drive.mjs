// drive.mjs puts a browser at the disposal of the Go tests of the console.
//
// Each line of input is answered by a line with the same id. {"id": 1, "open": {"origin": "http://…", "options": {…}}} opens a window
// in a context of its own, with Playwright's options for it; with "beside", a window's number, it is another page of that one's
// context. The window has the number of the line. {"id": 2, "window": 1, "code": "…", "args": […]} runs JavaScript with `page`,
// `context`, axe's source as `axe` and the arguments as `a`, `b` and `c` in scope, and is answered by {"id": 2, "value": …}, or by
// {"id": 2, "error": "…", "shown": "…"} with what the page shows where it threw. {"id": 3, "window": 1, "close": true} closes the
// context of a window; the value is what was seen in it that must not be: dialogs, requests to others than the origin, errors of
// scripts, and what the page's security policy had to stop. Lines run side by side. The end of the input ends the browser and the
// driver.

import { createInterface } from 'node:readline';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const patience = 60_000;
const AsyncFunction = (async () => {}).constructor;

const browser = await chromium.launch({
  executablePath: process.argv[2],
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});
const windows = new Map();
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

function trap(context, origin, seen) {
  context.on('request', request => {
    if (new URL(request.url()).origin !== origin) seen.push(`a request to ${request.url()}`);
  });
  context.on('dialog', dialog => {
    seen.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  context.on('weberror', thrown => seen.push(`an error: ${thrown.error().stack ?? thrown.error()}`));
  context.on('console', message => {
    // What the server refuses, or that it is gone, the browser says by itself; the page has to say it too.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) seen.push(message.text());
  });
}

async function open(number, { origin, beside, options }) {
  const shared = windows.get(beside);
  const seen = shared?.seen ?? [];
  const context = shared?.context ?? await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB', timezoneId: 'UTC', ...options });
  context.setDefaultTimeout(patience);
  if (!shared) trap(context, origin, seen);
  windows.set(number, { context, seen, page: await context.newPage() });
}

async function close(number) {
  const { context, seen } = windows.get(number);
  windows.delete(number);
  await context.close();
  return seen;
}

async function run(line) {
  if (line.open) return open(line.id, line.open);
  if (line.close) return close(line.window);
  const { page, context } = windows.get(line.window);
  return new AsyncFunction('page', 'context', 'axe', 'a', 'b', 'c', line.code)(page, context, axe, ...line.args);
}

async function answer(line) {
  let said;
  try {
    said = { id: line.id, value: await run(line) };
  } catch (error) {
    const page = windows.get(line.window)?.page;
    const shown = await page?.evaluate(() => location.href + '\n' + document.body.innerText).catch(String);
    said = { id: line.id, error: String(error.message ?? error), shown };
  }
  process.stdout.write(JSON.stringify(said) + '\n');
}

for await (const text of createInterface({ input: process.stdin })) {
  answer(JSON.parse(text));
}
await browser.close();
process.exit();
