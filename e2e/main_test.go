// Package e2e_test holds the program, as it is built and run by its users, to
// clients that we did not write: the official TypeScript clients, version 1
// and 2, the MCP inspector and the official Go client, over every transport
// and in both eras of the protocol. Beside them stand the tests that need a
// real process: what it leaves on its streams, how it ends, what it survives.
//
// The Node clients are in clients/, pinned by a lock file; `npm ci` there
// fetches them. Without them their tests are skipped, except where CI is set.
package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
)

// program is the orchestra-mcp under test.
var program string

func TestMain(m *testing.M) {
	if os.Getenv(serveExample) != "" {
		os.Exit(serveExampleStdio())
	}
	// A test mostly waits for other processes, so more run at once than there are processors. A -parallel that was
	// given is parsed later, and stands.
	if err := flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "orchestra-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // some tests run it as another user
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	program = filepath.Join(dir, "orchestra-mcp")
	build := exec.Command("go", slices.Concat([]string{"build", "-o", program}, buildFlags(), []string{"../cmd/orchestra-mcp"})...)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
