// Package console_test holds the operator's page to what its users get: in a browser that we did not write, with real
// servers and agents behind it.
//
// The browser is Chromium: the one that CHROMIUM names, else the machine's own. It is driven by Playwright, and looked through
// by axe, both pinned by the lock file here; `npm ci` fetches them. Without one of them the tests are skipped, except where CI
// is set.
package console_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// program is the orchestra-mcp whose servers the console shows.
var program string

func TestMain(m *testing.M) {
	check.Waiting()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if _, err := chromium(); err != nil && os.Getenv("CI") == "" {
		return m.Run() // each test says why it is skipped
	}
	return check.Program(func(path string) int {
		program = path
		code := m.Run()
		if err := endBrowser(); err != nil {
			fmt.Fprintln(os.Stderr, "the browser:", err)
			return 1
		}
		return code
	})
}
