package check

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// Program is for a TestMain: it builds orchestra-mcp, with the race detector where the tests have it, and gives its path to run, which
// runs the tests and returns their exit code. Its directory can be read by every user, and is gone afterwards.
func Program(run func(path string) int) (code int) {
	dir, err := os.MkdirTemp("", "orchestra-tests-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	path := filepath.Join(dir, "orchestra-mcp")
	build := exec.Command("go", "build", "-ldflags=-w", "-race="+strconv.FormatBool(Racing), "-o", path, "github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the program: %v\n%s", err, out)
		return 1
	}
	return run(path)
}
