// Package conformance_test holds the server to the protocol's own conformance suite, in both eras, over Streamable HTTP.
//
// Two servers are looked at: the program as it is shipped, and one that an embedder has made, which offers what the suite
// expects of a server under test: tools, prompts and resources of its own, through the embedding API, and so through the gate,
// the sessions and the transports. What fails for a reason is listed in expected_test.go, with the reason; it is held to that
// list both ways.
//
// The suite is pinned by the lock file here, with the Node that it needs; `npm ci` fetches both. Without them the tests are
// skipped, except where CI is set.
package conformance_test

import (
	"os"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// program is the orchestra-mcp under test.
var program string

func TestMain(m *testing.M) {
	check.Waiting()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if _, err := suite(); err != nil {
		return m.Run() // each test says why it is skipped
	}
	return check.Program(func(path string) int {
		program = path
		return m.Run()
	})
}
