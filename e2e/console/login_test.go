package console_test

import (
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// A link lets one browser in, once. A reload keeps the key, and so has a second page of the browser; logging out ends both.
func TestTheLinkIsGoodOnce(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace("weather")
	c := w.console(ws)
	link := c.link()
	page := c.window(nil)
	page.follows(link)
	check.Equal(t, value[string](page, `return page.url()`), c.origin()+"/", "the code stays in the address")

	late := c.window(nil)
	late.does(`await page.goto(a)`, link)
	late.sees("This link was used already, or is too old.")
	late.does(`await page.goto(a)`, c.origin()+"/approvals")
	late.sees("This page has no key.")

	page.goes(ws.at("timeline"))
	page.does(`await page.reload()`)
	page.sees("No records.")
	second := page.beside()
	second.does(`await page.goto(a)`, c.origin()+ws.at("intents"))
	second.sees("Build Weather API")
	second.does(`await page.goBack(); await page.goForward()`)
	second.sees("Build Weather API")

	page.clicks("button", "Log out")
	page.sees("You are logged out.")
	second.sees("You were logged out.")
	page.does(`await page.reload()`)
	page.sees("This page has no key.")
}

// A page says that its console is gone, goes on when it is back, and asks for a new link where the console is another.
func TestConsoleRestarts(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace("weather")
	c := w.console(ws)
	page := c.opened(nil)
	page.sees("No server runs here.")
	c.end()
	page.sees("The console does not answer.")
	again := w.consoleAt(c.at.String(), ws)
	page.sees("You were logged out.")
	page.does(`await page.goto("about:blank")`) // else only the fragment is another
	page.follows(again.link())
	page.sees("No server runs here.")
}
