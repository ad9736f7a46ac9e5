// The console's page: it holds the key, shows the view of its address, and keeps it up to date.

let key = null; // in memory alone
let shown = null; // the address of the view that is shown
let waiting = []; // the requests that wait for an answer
let rung = null; // the ids of those that were rung for
let left = new AbortController(); // ends what the view asked for, once a person goes on

// ---- The key

async function worker() {
  if (!navigator.serviceWorker) return null;
  try {
    await navigator.serviceWorker.register("/sw.js");
    return (await navigator.serviceWorker.ready).active;
  } catch {
    return null; // a private window: the key is lost at a reload
  }
}

async function askWorker() {
  const active = await worker();
  if (!active) return null;
  return new Promise(resolve => {
    const channel = new MessageChannel();
    channel.port1.onmessage = answer => resolve(answer.data);
    active.postMessage({ask: true}, [channel.port2]);
    setTimeout(resolve, 3000, null);
  });
}

// keep has the worker know the key before the page goes on: a person may reload it at once.
async function keep(value) {
  key = value;
  navigator.serviceWorker?.controller?.postMessage({keep: value});
  const active = await Promise.race([worker(), new Promise(resolve => setTimeout(resolve, 2000, null))]);
  active?.postMessage({keep: value});
}

navigator.serviceWorker?.addEventListener("message", event => {
  if (event.data.ask && key !== null) event.ports[0].postMessage(key);
});
addEventListener("pagehide", () => key !== null && navigator.serviceWorker?.controller?.postMessage({keep: key}));

async function enter() {
  const code = location.hash.slice(1);
  if (/^[A-Z2-7]{26}$/.test(code)) {
    history.replaceState(null, "", location.pathname);
    const answer = await fetch("/login", {method: "POST", body: JSON.stringify({code})});
    if (!answer.ok) return closed(await answer.text() + " Run orchestra-mcp console again, or press Enter where it runs, for a new link.");
    await keep((await answer.json()).key);
  } else {
    key = await askWorker();
  }
  if (key === null) return closed("This page has no key. Run orchestra-mcp console, or press Enter where it runs, and open the link that it shows.");
  await load(location.pathname + location.search);
  listen();
}

function closed(text) {
  key = null;
  const main = document.createElement("main");
  main.className = "closed";
  main.innerHTML = "<h1>orchestra-mcp</h1><p id=closed role=alert></p>";
  main.querySelector("p").textContent = text;
  document.body.replaceChildren(main);
}

const gone = "The console does not answer. It is asked again each second.";
const ask = (address, options = {}) => fetch(address, {...options, headers: {...options.headers, "X-Orchestra-Key": key}});

// ---- Views

// What a person has typed, ticked, chosen and opened stays when a view is brought up to date. What a form sends by itself does
// not: the name of a request, in a box or a button, goes with the request that stands there. What is found again beside others
// of its kind has an id: idiomorph takes what has none for another of its siblings.
const typed = "textarea, select, input:not([type=checkbox], [type=hidden])";
const morphing = {
  morphStyle: "innerHTML",
  callbacks: {
    beforeAttributeUpdated: (name, element) =>
      !(["open", "checked", "selected"].includes(name) || name === "value" && element.matches(typed)),
    beforeNodeMorphed: element => !(element.dataset && "kept" in element.dataset || element.id === "said"),
  },
};

async function load(address, {fresh = true} = {}) {
  const answer = await ask("/view" + address).catch(() => null);
  if (answer === null) return say(gone, true);
  if (answer.status === 401) return closed("You were logged out. " + await answer.text());
  const text = await answer.text();
  if (shown !== null && address !== location.pathname + location.search) return; // the person went on meanwhile
  const old = shown;
  shown = address;
  const view = new DOMParser().parseFromString(text, "text/html").body;
  if (!fresh && address === grown) return say("There are newer records: show them by the button of the filters.");
  grown = null;
  if (fresh || old === null) {
    left.abort();
    left = new AbortController();
    document.body.replaceChildren(...view.childNodes);
  } else {
    const focused = document.activeElement;
    Idiomorph.morph(document.body, view.innerHTML, morphing);
    // What was moved has lost the focus; what is gone leaves it to the view.
    if (document.activeElement !== focused) (focused.isConnected ? focused : document.querySelector("main"))?.focus({preventScroll: true});
  }
  complete(document.body);
  const main = document.querySelector("main");
  if (fresh && main) {
    scrollTo(0, 0);
    main.focus({preventScroll: true});
  }
}

// The second click of a double click must not answer what the first has brought.
const settled = new WeakSet();
const settling = 500; // milliseconds

// complete does for new elements what markup cannot say.
function complete(root) {
  for (const box of root.querySelectorAll('form[action="/answer"] fieldset')) {
    if (settled.has(box)) continue;
    settled.add(box);
    box.disabled = true;
    setTimeout(() => { box.disabled = false; }, settling);
  }
  for (const element of root.querySelectorAll("[data-text]")) {
    element.value = decodeURIComponent(element.dataset.text);
    element.removeAttribute("data-text");
    element.setAttribute("data-kept", "");
  }
  for (const element of root.querySelectorAll("[data-load]")) {
    const from = element.dataset.load;
    element.removeAttribute("data-load");
    element.setAttribute("data-kept", "");
    show(element, from);
  }
  for (const more of root.querySelectorAll("[data-more]")) nearing.observe(more);
  document.title = (waiting.length ? `(${waiting.length}) ` : "") + (document.querySelector("main")?.dataset.title ?? "") + " · orchestra-mcp";
  const bell = document.getElementById("bell");
  if (bell) bell.hidden = !("Notification" in window) || Notification.permission !== "default";
  clocks();
}

// show puts a part of a view in its place.
async function show(element, from) {
  const answer = await ask("/view" + from, {signal: left.signal}).catch(() => null);
  if (!answer) return; // a person went on
  element.innerHTML = await answer.text();
  element.setAttribute("aria-busy", "false");
  complete(element);
}

// The next page of a list is asked for before a person is at its end.
const nearing = new IntersectionObserver(entries => entries.filter(e => e.isIntersecting).forEach(e => more(e.target)), {rootMargin: "1500px"});

// The address of the list that has more than its first page, which is what an update would bring it back to.
let grown = null;

async function more(link) {
  nearing.unobserve(link);
  const from = link.getAttribute("href");
  const answer = await ask("/view" + from).catch(() => null);
  const text = answer?.ok ? await answer.text() : "";
  if (!text || !link.isConnected || link.getAttribute("href") !== from) return; // an update came between: it has a link of its own
  const view = new DOMParser().parseFromString(`<table><tbody>${text}</tbody></table>`, "text/html");
  const list = link.closest("table");
  link.closest("tr").replaceWith(...view.querySelectorAll("tr"));
  complete(list);
  grown = shown;
}

function go(address) {
  if (address !== location.pathname + location.search) history.pushState(null, "", address);
  return load(address);
}

addEventListener("popstate", () => load(location.pathname + location.search));

document.addEventListener("click", event => {
  const link = event.target.closest("a[href]");
  if (link && link.origin === location.origin && !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0) {
    event.preventDefault();
    if (link.hash && link.pathname === location.pathname) {
      document.querySelector(link.hash)?.focus();
    } else if ("more" in link.dataset) {
      more(link);
    } else {
      go(link.pathname + link.search);
    }
  }
  const directory = event.target.closest("button[data-tree]");
  if (directory) show(document.getElementById("tree"), directory.dataset.tree);
  const button = event.target.closest("button[data-do]");
  if (button?.dataset.do === "ring") Notification.requestPermission().then(() => complete(document.body));
  if (button?.dataset.do === "leave") ask("/logout", {method: "POST"}).then(() => { keep(null); closed("You are logged out."); });
});

// ---- Forms

// Enter in a field would press the first button, which approves.
document.addEventListener("keydown", event => {
  if (event.key === "Enter" && event.target.matches('form[action="/answer"] input')) event.preventDefault();
});

document.addEventListener("submit", async event => {
  event.preventDefault();
  const form = event.target;
  const fields = new URLSearchParams(new FormData(form, event.submitter));
  if (form.method === "get") {
    for (const [name, value] of [...fields]) if (value === "") fields.delete(name);
    return go(form.getAttribute("action") + "?" + fields);
  }
  const into = event.submitter?.dataset.into;
  if (into) {
    const answer = await ask("/view" + event.submitter.dataset.from, {method: "POST", body: fields});
    const place = document.getElementById(into);
    place.innerHTML = await answer.text();
    return complete(place);
  }
  const buttons = [...form.querySelectorAll("button"), ...document.querySelectorAll(`button[form="${CSS.escape(form.id)}"]`)];
  buttons.forEach(button => { button.disabled = true; });
  say("Working …");
  try {
    const answer = await ask("/do" + form.getAttribute("action"), {method: "POST", body: fields});
    const said = answer.headers.get("Content-Type") === "application/json" ? await answer.json() : {error: await answer.text()};
    if (answer.status === 401) return closed("You were logged out. " + said.error);
    if (answer.ok) await (said.to ? go(said.to) : load(shown, {fresh: true}));
    say(said.error ?? said.text, !answer.ok);
  } catch (failure) {
    say("The console does not answer: " + failure.message, true);
  }
  buttons.forEach(button => { button.disabled = false; });
});

// A choice in the frame leads on at once.
document.addEventListener("change", event => {
  if (event.target.matches("select[data-go]")) go(event.target.value);
});

function say(text, wrong = false) {
  const said = document.getElementById("said");
  if (!said) return;
  said.textContent = text;
  said.className = wrong ? "wrong" : "";
}

// ---- What changes

async function listen() {
  while (key !== null) {
    try {
      const answer = await ask("/events");
      if (answer.status === 401) return closed("You were logged out. " + await answer.text());
      document.body.dataset.lost = "no";
      if (shown !== null) load(shown, {fresh: false}); // what happened while nobody told
      await read(answer.body.pipeThrough(new TextDecoderStream()).getReader());
    } catch { /* the console is gone, or being started again */ }
    if (key === null) return;
    document.body.dataset.lost = "yes";
    say(gone, true);
    await new Promise(resolve => setTimeout(resolve, 1000));
  }
}

async function read(stream) {
  let text = "";
  for (;;) {
    const {value, done} = await stream.read();
    if (done) return;
    text += value;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const [, name, data] = text.slice(0, end).match(/^event: (\w+)\ndata: (.*)$/) ?? [];
      if (name === "change") changed(JSON.parse(data));
      if (name === "waiting") ring(JSON.parse(data));
    }
  }
}

let due = null;

function changed({workspace, areas}) {
  const main = document.querySelector("main");
  const live = (main?.dataset.live ?? "").split(" ");
  if (workspace && main?.dataset.workspace && workspace !== main.dataset.workspace) return;
  if (!areas.some(area => live.includes(area)) || due) return;
  due = setTimeout(() => { due = null; load(shown, {fresh: false}); }, 100);
}

function ring(now) {
  const fresh = rung === null ? [] : now.filter(one => !rung.has(one.id));
  rung = new Set(now.map(one => one.id));
  waiting = now;
  document.querySelectorAll("[data-waiting]").forEach(badge => {
    badge.textContent = now.length || "";
    badge.hidden = now.length === 0;
  });
  complete(document.body);
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  for (const one of fresh) {
    const note = new Notification(one.place + " waits for you", {body: one.title, tag: one.id, requireInteraction: true});
    note.onclick = () => { window.focus(); go(`/w/${one.workspace}/approvals/${one.id}`); note.close(); };
  }
}

// ---- Output of what runs

async function poll() {
  if (key !== null && document.visibilityState === "visible") {
    for (const element of document.querySelectorAll("[data-poll]")) {
      const answer = await ask("/view" + element.dataset.poll).catch(() => null);
      if (!answer?.ok) continue;
      const text = new DOMParser().parseFromString(await answer.text(), "text/html").body.textContent;
      const below = element.scrollTop === 0 && !element.dataset.seen || element.scrollTop + element.clientHeight > element.scrollHeight - 8;
      if (text.length > 0) element.textContent = text;
      if (below) element.scrollTop = element.scrollHeight;
      element.dataset.seen = "yes"; // from here on a person may scroll
    }
  }
  setTimeout(poll, 1000);
}

// ---- Times

function clocks() {
  for (const element of document.querySelectorAll("time[data-until]")) {
    const left = Math.max(0, Math.round((Date.parse(element.dateTime) - Date.now()) / 1000));
    element.textContent = length(left);
    element.classList.toggle("soon", left < 60);
  }
  for (const element of document.querySelectorAll("time[data-since]")) {
    element.textContent = length(Math.max(0, Math.round((Date.now() - Date.parse(element.dateTime)) / 1000)));
  }
}

function length(seconds) {
  if (seconds < 60) return seconds + " s";
  if (seconds < 3600) return Math.floor(seconds / 60) + " min " + seconds % 60 + " s";
  if (seconds < 172800) return Math.floor(seconds / 3600) + " h " + Math.floor(seconds / 60) % 60 + " min";
  return Math.floor(seconds / 86400) + " days";
}

setInterval(clocks, 1000);
poll();
enter();
