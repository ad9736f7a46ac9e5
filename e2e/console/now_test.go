package console_test

import (
	"context"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// A server that starts, an agent's call, a command that runs and the death of a server show without anybody's doing.
func TestNow(t *testing.T) {
	w := newWorld(t)
	weather, billing := w.workspace("weather"), w.workspace("billing")
	page := w.console(weather).opened(nil)
	page.sees("No server runs here.")

	builder := weather.agent("builder")
	page.sees("stdio")
	builder.Selects("INT-005")
	page.sees("Everything")
	writer := billing.remote("writer") // a workspace that nobody named
	page.sees("billing")
	page.sees("http 127.0.0.1:")
	writer.Selects("INT-002")
	writer.OK("write_to_file", args{"path": "docs/new.md", "content": "# New\n"})
	page.sees("docs/new.md")

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := builder.send(ctx, "execute_command", args{"command": "echo it begins; sleep 1000"})
		ended <- err
	}()
	page.sees("Running")
	page.sees("it begins\n")
	cancel()
	<-ended
	page.misses("Running")

	writer.kill()
	page.misses("http 127.0.0.1:")
	page.sees("No server runs here.")
	builder.kill()
	page.misses("stdio")
	weather.agent("next")
	page.sees("stdio")
}

// Once the person has allowed it, the page rings for each request that comes, once, and leads to it; what waited before rings
// nobody.
func TestRing(t *testing.T) {
	w := newWorld(t)
	ws := w.workspace("weather")
	a := ws.agent("builder")
	a.Selects("INT-001")
	a.writes("docs/before.md", "x\n")
	c := w.console()
	page := c.window(options{"permissions": []string{"notifications"}})
	page.does(`await page.addInitScript(() => {
		window.rung = [];
		window.Notification = class {
			static permission = "default";
			static async requestPermission() { return Notification.permission = "granted"; }
			constructor(title, options) { rung.push(this); Object.assign(this, {title, ...options}); }
			close() { this.closed = true; }
		};
	})`)
	page.follows(c.link())
	page.clicks("link", "Approvals")
	page.sees("docs/before.md")
	page.clicks("button", "Ring when something waits")
	page.does(`await page.getByRole("button", {name: "Ring when something waits"}).waitFor({state: "hidden"})`)
	a.writes("docs/after.md", "x\n")
	page.sees("docs/after.md")
	rung := func() []string {
		return value[[]string](page, `await page.waitForFunction(() => rung.length > 0); return page.evaluate(() => rung.map(n => n.title + ": " + n.body))`)
	}
	got := rung()
	check.That(t, len(got) == 1 && got[0] == "weather waits for you: write_to_file wants to create docs/after.md", "it rang %q", got)
	page.does(`await page.evaluate(() => rung[0].onclick())`)
	page.sees("Your answer")
	page.sees("docs/after.md")
}
