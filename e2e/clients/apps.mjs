// Shows the page of an app in a browser, as a host of MCP Apps does, for e2e/apps_test.go: with the official host library, whose
// schemas hold every message of the page, in a frame of another origin, under the policy that the extension has hosts make of
// the page's metadata.
//
// The input is one JSON object: {"chromium": "…", "page": "<!doctype html>…", "csp": {…}, "shots": "directory, or empty for none",
// "cases": [{"name": "…", "theme": "dark", "variables": {…}, "links": true, "input": {…}, "result": {…}}]}. Each case is answered by
// one line of JSON: {"name": …, "text": what a person reads, "elements": how many there are of each name, "background": …, "color": …,
// "sent": the methods of what the page sent, "opened": the addresses that it asked the host to open, "loaded": what was fetched
// beside the page itself, "errors": what the browser complained of, "height": of the page by its own account}.

import { text } from 'node:stream/consumers';
import { AppBridge } from '@modelcontextprotocol/ext-apps/app-bridge';
import { chromium } from 'playwright-core';

const { chromium: executablePath, page: html, csp, shots, cases } = JSON.parse(await text(process.stdin));

const host = 'http://host.test/';
const frame = 'http://frame.test/';

// policy is the construction of the specification, "CSP Construction from Metadata".
function policy() {
  const origins = (list) => ['', ...(list ?? [])].join(' ');
  return [
    "default-src 'none'",
    `script-src 'self' 'unsafe-inline'${origins(csp.resourceDomains)}`,
    `style-src 'self' 'unsafe-inline'${origins(csp.resourceDomains)}`,
    `connect-src 'self'${origins(csp.connectDomains)}`,
    `img-src 'self' data:${origins(csp.resourceDomains)}`,
    `font-src 'self'${origins(csp.resourceDomains)}`,
    `frame-src ${csp.frameDomains?.join(' ') || "'none'"}`,
    "object-src 'none'",
    `base-uri ${csp.baseUriDomains?.join(' ') || "'self'"}`,
  ].join('; ');
}

const hostPage = `<!doctype html><link rel="icon" href="data:,"><iframe sandbox="allow-scripts" style="width:46rem;height:40rem"></iframe><script>
const view = document.querySelector('iframe');
addEventListener('message', ({ source, data }) => source === view.contentWindow && heard(data));
const say = (message) => view.contentWindow.postMessage(message, '*');
</script>`;

async function show(context, { name, theme, variables, links, input, result }) {
  const page = await context.newPage();
  const seen = { name, sent: [], opened: [], loaded: [], errors: [], height: 0 };
  page.on('pageerror', (error) => seen.errors.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && seen.errors.push(message.text()));
  await page.route('**', (route) => {
    switch (route.request().url()) {
      case host:
        return route.fulfill({ contentType: 'text/html', body: hostPage });
      case frame:
        return route.fulfill({ contentType: 'text/html; charset=utf-8', body: html, headers: { 'content-security-policy': policy() } });
    }
    seen.loaded.push(route.request().url());
    return route.abort();
  });

  const transport = {
    start: async () => {},
    close: async () => {},
    send: (message) => page.evaluate((m) => say(m), message),
  };
  await page.exposeFunction('heard', (message) => {
    seen.sent.push(message.method ?? 'an answer');
    transport.onmessage?.(message);
  });
  const capabilities = { serverTools: {}, serverResources: {}, updateModelContext: { text: {} }, message: { text: {} }, ...(links && { openLinks: {} }) };
  const bridge = new AppBridge(null, { name: 'test', version: '1' }, capabilities, { hostContext: { theme, styles: { variables } } });
  bridge.onerror = (error) => seen.errors.push(String(error));
  bridge.onopenlink = async ({ url }) => (seen.opened.push(url), {});
  bridge.onsizechange = ({ height }) => (seen.height = height);
  const initialized = new Promise((resolve) => (bridge.oninitialized = resolve));
  await bridge.connect(transport);

  await page.goto(host);
  await page.evaluate((url) => { view.src = url; }, frame);
  await initialized;
  await bridge.sendToolInput({ arguments: input ?? {} });
  if (result) {
    await bridge.sendToolResult(result);
  }
  const inside = page.frame({ url: frame });
  await inside.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))); // what was said has been drawn
  if (links && (await inside.locator('button').isVisible())) {
    await inside.locator('button').click();
  }
  await bridge.teardownResource({}); // its answer comes behind all that the page has sent
  Object.assign(seen, await inside.evaluate(() => {
    const style = getComputedStyle(document.body);
    const elements = {};
    for (const { localName } of document.querySelectorAll('*')) {
      elements[localName] = (elements[localName] ?? 0) + 1;
    }
    return { text: document.body.innerText, elements, background: style.backgroundColor, color: style.color };
  }));
  if (shots) {
    await page.screenshot({ path: `${shots}/${name.replace(/\W+/g, '-')}.png` });
  }
  await page.close();
  return seen;
}

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const context = await browser.newContext();
for (const one of cases) {
  process.stdout.write(JSON.stringify(await show(context, one)) + '\n');
}
await browser.close();
