package console_test

import (
	"context"
	"testing"
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
