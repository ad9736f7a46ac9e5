package console_test

import (
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// tabs moves the focus on until it is on what has a name, which must show that it has it.
func (w *window) tabs(name string) {
	w.t.Helper()
	w.does(`await page.waitForFunction(() => !document.querySelector("fieldset:disabled")); // what has just come settles first
	for (let i = 0; i < 80; i++) {
		await page.keyboard.press("Tab");
		const [at, shown] = await page.evaluate(() => {
			const e = document.activeElement;
			return e === document.body ? ["", false] : [(e.labels?.[0]?.innerText ?? e.innerText).trim(), getComputedStyle(e).outlineStyle !== "none"];
		});
		if (!at.includes(a)) continue;
		if (!shown) throw new Error("nothing shows that the focus is there");
		return;
	}
	throw new Error("the keyboard does not get there")`, name)
}

func (w *window) presses(key string) {
	w.t.Helper()
	w.does(`await page.keyboard.press(a)`, key)
}

// Everything can be done without a mouse. A live update takes neither the focus nor what is being typed.
func TestKeyboardAlone(t *testing.T) {
	ws, a, _, page := newWorld(t).asks()
	page.does(`await page.reload()`) // the focus is nowhere
	page.sees("Nothing waits for an answer.")
	page.presses("Shift+Tab")
	page.tabs("Skip to the content")
	page.presses("Enter")
	check.Equal(t, value[string](page, `return page.evaluate(() => document.activeElement.id)`), "main")

	once, denied := a.writes("docs/once.md", "once\n"), a.writes("docs/denied.md", "denied\n")
	page.sees("docs/once.md")
	page.sees("docs/denied.md")
	page.tabs("create docs/once.md")
	page.tabs("create docs/once.md") // the box is before the link, or the other request is
	page.presses("Enter")
	page.sees("Your answer")
	page.tabs("Approve once")
	page.presses("Enter")
	page.sees("Approved apr_")
	goesOn(t, once)

	page.tabs("create docs/denied.md")
	page.tabs("create docs/denied.md")
	page.presses("Enter")
	page.sees("Your answer")
	page.tabs("Reason")
	page.does(`await page.keyboard.type("not so "); await page.evaluate(() => { window.typedIn = document.activeElement; })`)
	ws.write("docs/denied.md", "made meanwhile\n") // so that an update puts a line before the form
	more := []func() bool{}
	for _, name := range []string{"docs/x.md", "docs/y.md"} {
		call := a.writes(name, "x\n")
		more = append(more, func() bool { return !call().Error })
	}
	page.does(`await page.waitForFunction(() => document.querySelector("[data-waiting]").innerText === "3")`)
	page.sees("docs/denied.md has changed since")
	page.does(`await page.keyboard.type("fast")`)
	check.That(t, value[bool](page, `return page.evaluate(() => window.typedIn === document.activeElement && window.typedIn.value === "not so fast")`),
		"an update took the focus, or what was typed")
	page.presses("Tab")
	page.presses("Enter")
	page.sees("Denied apr_")
	check.That(t, denied().Error, "the denied call went through")

	page.tabs("create docs/x.md")
	page.presses("Space")
	page.does(`if (!await page.getByLabel("docs/x.md").isChecked()) await page.keyboard.press("Tab"), await page.keyboard.press("Space")`)
	page.does(`await page.evaluate(() => document.querySelector("main").focus())`)
	page.tabs("create docs/y.md")
	page.presses("Space")
	page.tabs("Approve the chosen once")
	page.presses("Enter")
	page.sees("Approved apr_")
	check.That(t, more[0]() && more[1](), "what was approved together did not go on")
}
