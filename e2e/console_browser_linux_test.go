package e2e_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf16"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/presence"
)

// tellsKey has a page keep what it got at its login where a test finds it.
const tellsKey = `const real = window.fetch; window.fetch = async (...asked) => {
	const got = await real(...asked);
	if (asked[0] === "/login") window.got = (await got.clone().json()).key;
	return got;
}`

// TestTheBrowserKeepsNoKey: the key of a login and what was shown are in no file of the browser, over a new load that keeps the
// page in, after the logout and after the browser's end. The link is in its history, and good no more.
func TestTheBrowserKeepsNoKey(t *testing.T) {
	t.Parallel()
	const line = "a line that the page shows"
	w := newWorkspace(t)
	w.write("src/shown.txt", line+"\n")
	o, profile := w.opensConsole(os.Getuid()), t.TempDir()
	b := opensBrowser(t, w, profile)
	page := b.opens(tellsKey)
	page.goes(o.at + "/#" + o.code)
	page.awaits(`Boolean(window.got && navigator.serviceWorker.controller)`)
	key := page.says("window.got")
	page.goes(o.at + "/w/" + presence.Name(w.dir) + "/file?path=src/shown.txt")
	page.shows(line)
	look := func(when string) {
		t.Helper()
		for _, secret := range []string{key, line} {
			found := holding(t, profile, secret)
			check.That(t, len(found) == 0, "%s: %q is in %q", when, secret, found)
		}
	}
	look("while it runs")
	// A click before the page's script is there does nothing, so it is made again.
	page.awaits(`(document.querySelector("[data-do=leave]")?.click(), document.body.innerText.includes("You are logged out."))`)
	b.close()
	look("after its end")
	check.That(t, len(holding(t, profile, o.code)) > 0, "the search does not find the link in the history")
	o.posts("/login", "application/json", `{"code":"`+o.code+`"}`, http.StatusForbidden)
}

// TestAnotherPortsPage: a page of an agent's program, which the operator opens beside the console, gets the cookie along with
// its requests and nothing else: no view, no answer, no frame, no window, no worker.
func TestAnotherPortsPage(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	a := w.initialized().agent()
	request := w.asks(a, a.Selects("INT-001"))
	o := w.opensConsole(os.Getuid())
	var withCookie atomic.Int32
	evil := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.Header.Get("Cookie"), "orchestra-console-"+o.port()) {
			withCookie.Add(1)
		}
		check.Equal(t, r.Header.Get("X-Orchestra-Key"), "")
		if r.URL.Path == "/sw.js" {
			out.Header().Set("Content-Type", "text/javascript")
			fmt.Fprintf(out, "importScripts(%q)", o.at+"/sw.js")
			return
		}
		out.Header().Set("Content-Type", "text/html")
		fmt.Fprint(out, "<!doctype html><body>hello")
	}))
	defer evil.Close()
	b := opensBrowser(t, w, t.TempDir())
	operators := b.opens(tellsKey)
	operators.goes(o.at + "/#" + o.code)
	operators.awaits(`Boolean(window.got)`)
	page := b.opens("")
	page.goes(evil.URL)
	page.shows("hello")
	const (
		asked   = `fetch(at + %s).then(r => "answered " + r.status, e => e.name)`
		element = `new Promise(done => { const e = document.createElement(%q); e.onload = () => done("loaded"); e.onerror = () => done("error"); e[%q] = at + %q; %s; document.body.append(e); })`
	)
	answers := `{method: "POST", credentials: "include", mode: "no-cors", body: new URLSearchParams({decision: "approve_once", request: "` + request + `"})}`
	for name, c := range map[string]struct{ does, comes string }{
		"a view":               {fmt.Sprintf(asked, `"/view/", {credentials: "include"}`), "TypeError"},
		"a view, no-cors":      {fmt.Sprintf(asked, `"/view/", {credentials: "include", mode: "no-cors"}`), "TypeError"},
		"a view, with the key": {fmt.Sprintf(asked, `"/view/", {credentials: "include", headers: {"X-Orchestra-Key": "`+operators.says("window.got")+`"}}`), "TypeError"},
		"an answer":            {fmt.Sprintf(asked, `"/do/answer", `+answers), "TypeError"},
		"an answer, beacon":    {`navigator.sendBeacon(at + "/do/answer", new URLSearchParams({decision: "approve_once", request: "` + request + `"}))`, "true"},
		"an answer, form":      {`new Promise(done => { document.body.insertAdjacentHTML("beforeend", '<iframe name="to"></iframe><form method="post" target="to" action="' + at + '/do/answer"><input name="decision" value="approve_once"><input name="request" value="` + request + `"></form>'); document.querySelector("[name=to]").onload = () => done("loaded"); document.forms[0].submit(); })`, "loaded"},
		"a script":             {fmt.Sprintf(element, "script", "src", "/assets/app.js", ""), "error"},
		"a module":             {`import(at + "/assets/app.js").then(() => "loaded", e => e.name)`, "TypeError"},
		"a style":              {fmt.Sprintf(element, "link", "href", "/assets/style.css", `e.rel = "stylesheet"`), "error"},
		"an image":             {fmt.Sprintf(element, "img", "src", "/assets/icon.svg", ""), "error"},
		"a frame":              {fmt.Sprintf(element, "iframe", "src", "/", "") + `.then(() => { try { return frames[frames.length - 1].location.href } catch (e) { return e.name } })`, "SecurityError"},
		"an event source":      {`new Promise(done => { const e = new EventSource(at + "/events", {withCredentials: true}); e.onopen = () => done("open"); e.onerror = () => { e.close(); done("error") } })`, "error"},
		"a socket":             {`new Promise(done => { const s = new WebSocket(at.replace("http", "ws") + "/events"); s.onopen = () => done("open"); s.onerror = () => done("error") })`, "error"},
		"a window":             {`new Promise(done => { const it = window.open(at + "/"); setInterval(() => it === null ? done("none") : it.closed && done("gone"), 20) })`, "gone"},
		"its worker":           {`navigator.serviceWorker.register(at + "/sw.js").then(() => "registered", e => e.name)`, "SecurityError"},
		"a worker with ours":   {`navigator.serviceWorker.register("/sw.js").then(() => "registered", e => e.name)`, "TypeError"},
		"the cookie, by name":  {`document.cookie || "none"`, "none"},
	} {
		came := page.says("(at => " + c.does + ")(" + fmt.Sprintf("%q", o.at) + ")")
		check.That(t, came == c.comes, "%s: %q, want %q", name, came, c.comes)
	}
	check.That(t, !strings.Contains(page.frames(), `"url":"`+o.at), "it is framed: %s", page.frames())
	page.goes(evil.URL + "/again")
	page.awaits(`location.pathname === "/again"`)
	check.That(t, withCookie.Load() > 0, "the cookie goes to no other port: say so in the documents")
	waits := w.pending(w.inbox(), 1)
	check.Equal(t, presence.Name(w.dir)+"/"+waits[0].ID, request)
	operators.shows("Waits for you")
}

// holding are the files below a directory that have a text, in whatever width of its characters.
func holding(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	var wide []byte
	for _, c := range utf16.Encode([]rune(text)) {
		wide = append(wide, byte(c), byte(c>>8))
	}
	check.OK(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // it comes and goes
		}
		content, _ := os.ReadFile(name)
		if bytes.Contains(content, []byte(text)) || bytes.Contains(content, wide) {
			found = append(found, name)
		}
		return nil
	}))
	return found
}

// TestAnAgentsBrowser: a browser that a command starts gets in neither with the operator's link nor with a copy of the
// operator's profile.
func TestAnAgentsBrowser(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	a := w.initialized(unjudged, "TMPDIR=/tmp").agent() // a browser makes sockets there
	session := a.Selects("INT-001")
	o := w.opensConsole(os.Getuid())
	starts := func(profile, address string) string {
		t.Helper()
		line := chromium + " " + strings.Join(chromiumArguments(profile), " ") + " --dump-dom --virtual-time-budget=10000 '" + address + "'"
		return a.Call("execute_command", args{"session": session, "command": line, "timeout": 50}).Str("output")
	}
	said := starts("src/own", o.at+"/#"+o.code)
	check.That(t, strings.Contains(said, "this is for the operator"), "with the link: %s", said)
	operators := filepath.Join(w.home, "chromium")
	b := opensBrowser(t, w, operators)
	page := b.opens(tellsKey)
	page.goes(o.at + "/#" + o.code)
	page.awaits(`Boolean(window.got && navigator.serviceWorker.controller)`)
	b.close()
	check.OK(t, os.CopyFS(w.path("src/copied"), os.DirFS(operators)))
	said = starts("src/copied", o.at+"/")
	check.That(t, strings.Contains(said, `<main class="closed">`) && !strings.Contains(said, "<header"), "with a copied profile: %s", said)
}
