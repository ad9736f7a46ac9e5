package catalogue_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
)

// killedEnv names the file of a book for the process that TestKilled kills.
const killedEnv = "CATALOGUE_TEST_KILLED"

// TestKilled: a process that is killed while it writes leaves a whole file, and what it left beside it goes with the next write.
func TestKilled(t *testing.T) {
	if file := os.Getenv(killedEnv); file != "" {
		observeUntilKilled(file)
		return
	}
	s := newShelf(t)
	s.observe(tools(tool("a", "One.")))
	for lines := range check.Rounds(8, 100) {
		process := exec.Command(os.Args[0], "-test.run=^TestKilled$")
		process.Env = append(os.Environ(), killedEnv+"="+s.file)
		out := check.Value(process.StdoutPipe())(t)
		check.OK(t, process.Start())
		for scan := bufio.NewScanner(out); lines >= 0 && scan.Scan(); lines-- {
		}
		check.OK(t, process.Process.Kill())
		_ = process.Wait()
		states := s.states()
		check.That(t, strings.HasPrefix(states, "a trusted"), "after a kill: %s", states)
	}
	s.observe(tools(tool("a", "One."), tool("last", "Last.")))
	s.want("a trusted, last new")
	only(t, s.file)
}

// observeUntilKilled ends by itself too, where nobody reads.
func observeUntilKilled(file string) {
	book := catalogue.Open(file)
	for n := range 100_000 {
		if _, err := book.Observe(definition(), tools(tool("a", "One."), tool("b", fmt.Sprint(n)))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if _, err := fmt.Println(n); err != nil {
			os.Exit(0)
		}
	}
}
