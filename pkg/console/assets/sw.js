// Keeps the page's key in memory over a reload. Nothing is written down: the browser ends this worker when nobody asks it
// for a while, and the key is gone.
let key = null;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", event => event.waitUntil(self.clients.claim()));

self.addEventListener("message", event => {
  if ("keep" in event.data) key = event.data.keep;
  if (!event.data.ask) return;
  if (key !== null) return event.ports[0].postMessage(key);
  event.waitUntil(fromAnotherPage(event.source.id).then(found => event.ports[0].postMessage(found)));
});

// A page that is open has the key too.
async function fromAnotherPage(except) {
  const pages = (await self.clients.matchAll({type: "window"})).filter(page => page.id !== except);
  const asked = pages.map(page => new Promise(resolve => {
    const channel = new MessageChannel();
    channel.port1.onmessage = answer => resolve(answer.data);
    page.postMessage({ask: true}, [channel.port2]);
  }));
  if (asked.length === 0) return null;
  asked.push(new Promise(resolve => setTimeout(resolve, 1000, null)));
  key = await Promise.race(asked);
  return key;
}
