package main

import (
	"bytes"
	"flag"
	"os"

	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

var update = flag.Bool("update", false, "write the outputs in docs/asking.md and in the scripts anew")

const askingPage = "../../docs/asking.md"

// at is the moment at which the questions of a test are asked.
var askedAt = time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)

// run runs the program in a directory as at a fixed time, and returns what it printed and its exit code.
func run(t *testing.T, dir string, args ...string) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := systemEnvironment()
	env.workDir = func() (string, error) { return dir, nil }
	env.now = func() time.Time { return askedAt }
	code = execute(t.Context(), args, streams{in: strings.NewReader(""), out: &stdout, err: &stderr}, env)
	return stdout.String(), stderr.String(), code
}

// home gives a test its own home, so that nothing of the machine's is read.
func home(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, dir)
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
}

// TestAskingPage runs the commands of docs/asking.md on the story and compares what they print with the page.
func TestAskingPage(t *testing.T) {
	dir := toldStory(t)
	page := check.Value(os.ReadFile(askingPage))(t)
	asked := 0
	blocks := strings.Split(string(page), "```console\n")
	for i, block := range blocks[1:] {
		shown, rest, _ := strings.Cut(block, "```")
		command, want, _ := strings.Cut(shown, "\n")
		args, found := strings.CutPrefix(command, "$ orchestra-mcp ")
		check.Must(t, found, "%q is no command of ours", command)
		out, errs, code := run(t, dir, strings.Fields(args)...)
		if asked++; code != exitDone && code != exitFound {
			t.Errorf("%s: exit code %d: %s", command, code, errs)
		}
		check.That(t, out+errs == want || *update, "%s prints\n%s\nthe page says\n%s", command, out+errs, want)
		blocks[i+1] = command + "\n" + out + errs + "```" + rest
	}
	check.That(t, asked >= 3, "the page asks %d questions", asked)
	if *update {
		check.OK(t, os.WriteFile(askingPage, []byte(strings.Join(blocks, "```console\n")), 0o644))
	}
	checkLedger(t, dir)
}
