// Package upstreams_test puts other servers behind the program, as it is built and run by its users: the well-known ones from
// npm, and one that does whatever a server should not.
//
// Those from npm are in package.json, pinned by a lock file; `npm ci` here fetches them. Without them their tests are skipped,
// except where CI is set.
package upstreams_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// program is the orchestra-mcp under test.
var program string

func TestMain(m *testing.M) {
	if name := os.Getenv(actVariable); name != "" {
		os.Exit(act(name))
	}
	check.Waiting()
	os.Exit(check.Program(func(path string) int {
		program = path
		return m.Run()
	}))
}

// installed is where the servers from npm are.
func installed(t *testing.T) string {
	t.Helper()
	dir := check.Value(filepath.Abs("node_modules"))(t)
	if _, err := os.Stat(filepath.Join(dir, "@modelcontextprotocol")); err != nil {
		check.Must(t, os.Getenv("CI") == "", "the servers are not installed: npm ci in e2e/upstreams")
		t.Skip("the servers are not installed: npm ci in e2e/upstreams")
	}
	return dir
}
