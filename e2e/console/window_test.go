package console_test

import (
	"encoding/json"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// window is a page of the browser. What must not be seen in it, such as a request to somebody else, fails the test at its end.
type window struct {
	t      *testing.T
	driver *driver
	number int
}

// options are Playwright's for a context.
type options map[string]any

// window opens an empty page that is let in by nobody yet.
func (c *served) window(o options) *window {
	c.w.t.Helper()
	d := needsBrowser(c.w.t)
	number, _, err := d.ask(map[string]any{"open": map[string]any{"origin": c.origin(), "options": o}})
	check.OK(c.w.t, err)
	w := &window{c.w.t, d, number}
	c.w.t.Cleanup(func() {
		_, raw, err := d.ask(map[string]any{"window": number, "close": true})
		check.NoError(w.t, err)
		check.That(w.t, err != nil || string(raw) == "[]", "this was seen in the browser: %s", raw)
	})
	return w
}

// opened is a window that has followed a new link.
func (c *served) opened(o options) *window {
	c.w.t.Helper()
	w := c.window(o)
	w.follows(c.link())
	return w
}

// beside is another page of the same browser.
func (w *window) beside() *window {
	w.t.Helper()
	number, _, err := w.driver.ask(map[string]any{"open": map[string]any{"beside": w.number}})
	check.OK(w.t, err)
	return &window{w.t, w.driver, number}
}

// does runs JavaScript with page and context in scope, and up to three arguments as a, b and c.
func (w *window) does(code string, args ...any) json.RawMessage {
	w.t.Helper()
	if args == nil {
		args = []any{}
	}
	_, raw, err := w.driver.ask(map[string]any{"window": w.number, "code": code, "args": args})
	check.Must(w.t, err == nil, "%s %v: %v", code, args, err)
	return raw
}

// value is what JavaScript returns.
func value[T any](w *window, code string, args ...any) (v T) {
	w.t.Helper()
	check.OK(w.t, json.Unmarshal(w.does(code, args...), &v))
	return v
}

// follows opens a link of the console.
func (w *window) follows(link string) {
	w.t.Helper()
	w.does(`await page.goto(a); await page.locator("header nav").waitFor()`, link)
}

// goes leads the page to an address as its own links do.
func (w *window) goes(address string) {
	w.t.Helper()
	w.does(`await page.evaluate(to => {
		document.querySelector("main").id = "left";
		history.pushState(null, "", to);
		dispatchEvent(new PopStateEvent("popstate"));
	}, a);
	await page.locator("main#main").waitFor()`, address)
}

// sees waits until the page shows a text.
func (w *window) sees(text string) {
	w.t.Helper()
	w.does(`await page.getByText(a).locator("visible=true").first().waitFor()`, text)
}

// misses waits until the page does not show a text any more.
func (w *window) misses(text string) {
	w.t.Helper()
	w.does(`for (const until = Date.now() + 60_000; await page.getByText(a).locator("visible=true").count() > 0;) {
		if (Date.now() > until) throw new Error("it is still there");
		await page.waitForTimeout(20);
	}`, text)
}

// clicks clicks what has a role and, in it, a name.
func (w *window) clicks(role, name string) {
	w.t.Helper()
	w.does(`await page.getByRole(a, {name: b}).first().click()`, role, name)
}

// types fills in the field with a label.
func (w *window) types(label, text string) {
	w.t.Helper()
	w.does(`await page.getByLabel(a).first().fill(b)`, label, text)
}

// text is that of an element, as it is shown.
func (w *window) text(selector string) string {
	w.t.Helper()
	return value[string](w, `return page.locator(a).first().innerText()`, selector)
}
