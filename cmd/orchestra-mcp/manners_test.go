package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/doctor"
	"github.com/intentgov/orchestra-mcp/pkg/review"
)

// atTerminal runs the program as if it had a terminal with so many columns, and returns what it printed and its exit code.
// variables are NAME=VALUE; there is no pager unless they name one.
func atTerminal(t *testing.T, dir string, columns string, variables []string, args ...string) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := systemEnvironment()
	env.workDir = func() (string, error) { return dir, nil }
	env.lookup = func(name string) (string, bool) {
		for _, v := range append(variables, "COLUMNS="+columns, "PAGER=cat", "NO_COLOR=") {
			if value, found := strings.CutPrefix(v, name+"="); found {
				return value, true
			}
		}
		return os.LookupEnv(name)
	}
	code = execute(t.Context(), args, streams{in: strings.NewReader(""), out: &stdout, err: &stderr, outTerminal: true}, env)
	return stdout.String(), stderr.String(), code
}

// TestLogFitsTheTerminal: no line is longer than the terminal is wide, and what was done is always there.
func TestLogFitsTheTerminal(t *testing.T) {
	dir := toldStory(t)
	for columns, heading := range map[string]string{
		"200": "TIME                 RECORD    KIND       INTENT        WHO                     CLASS             WHAT",
		"120": "TIME                 RECORD    KIND       INTENT        WHO                     WHAT",
		"80":  "TIME         RECORD    KIND       INTENT        WHAT",
		"40":  "TIME         RECORD    WHAT",
	} {
		out, errs, code := atTerminal(t, dir, columns, []string{"NO_COLOR=1"}, "log")
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		check.That(t, code == exitDone && lines[0] == heading && len(lines) == 10 && strings.Contains(lines[1], "undo "),
			"%s columns: exit code %d %s\n%s", columns, code, errs, out)
		for _, line := range lines {
			n := utf8.RuneCountInString(line)
			check.That(t, (len(columns) >= 3 || n <= 80) && (columns != "40" || n <= 40), "%s columns: %d characters: %s", columns, n, line)
		}
	}
}

// TestPager: a long answer goes through $PAGER on a terminal and nowhere else, with the variables that git gives less.
func TestPager(t *testing.T) {
	dir := toldStory(t)
	for _, args := range [][]string{{"log"}, {"show", storyID(1)}, {"blame", "src/weather.ts"}, {"stats"}} {
		pager := []string{"PAGER=echo paged with $LESS; cat"}
		direct, _, _ := run(t, dir, args...)
		out, errs, code := atTerminal(t, dir, "200", append(pager, "NO_COLOR=1"), args...)
		rest, paged := strings.CutPrefix(out, "paged with FRX\n")
		check.That(t, paged && code == exitDone && direct != "" && len(rest) >= 50, "%s: exit code %d %s\n%s", args, code, errs, out)
		check.That(t, !strings.Contains(direct, "paged"), "%s was paged without a terminal", args)
	}
	// A pager that is not there, or that stops early, is no failure of the command.
	for _, pager := range []string{"PAGER=", "PAGER=true", "PAGER=no-such-program"} {
		out, errs, code := atTerminal(t, dir, "200", []string{pager}, "log")
		check.That(t, code == exitDone, "%s: exit code %d %s%s", pager, code, out, errs)
	}
}

// TestAllIsWellIsGreen: a check that found nothing says so in green, on a terminal, unless nobody wants colours.
func TestAllIsWellIsGreen(t *testing.T) {
	dir := toldStory(t)
	for name, text := range map[string]string{"a.go": "package a\n", "b.go": "package a\n\n", "src/client.ts": clientText} {
		check.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "one"},
	} {
		_, err := gitOutput(t.Context(), dir, args...)
		check.OK(t, err)
	}
	for _, c := range []struct{ command, says string }{
		{"verify", "The ledger holds: nothing was changed or removed."}, {"ledger repair", "Nothing to repair."},
		{"ledger merge", "There is no conflict in the ledger."}, {"intents validate", "2 intents, no problems"},
		{"trust", "Nothing in the workspace's files waits for your trust."}, {"approvals list", "Nothing waits for an answer."},
		{"classify a.go b.go", "proven"}, {"status", "whole"},
		{"ledger restore", "The ledger has every record and every seal that those commits have."},
	} {
		args := strings.Fields(c.command)
		green, plain := "\x1b[32m"+c.says+"\x1b[0m", c.says
		out, errs, code := atTerminal(t, dir, "80", nil, args...)
		check.That(t, code == exitDone && strings.Contains(out, green), "%s: exit code %d %s: %q", c.command, code, errs, out)
		out, _, _ = atTerminal(t, dir, "80", []string{"NO_COLOR=1"}, args...)
		check.That(t, !strings.Contains(out, "\x1b") && strings.Contains(out, plain), "%s with NO_COLOR: %q", c.command, out)
		if out, _, _ := run(t, dir, args...); strings.Contains(out, "\x1b") || !strings.Contains(out, plain) {
			t.Errorf("%s without a terminal: %q", c.command, out)
		}
	}
	// What doctor and gate find hangs on the machine and on a history; how they say that it is nothing does not.
	var out bytes.Buffer
	a := newApp(streams{out: &out, outTerminal: true}, environment{lookup: func(string) (string, bool) { return "", false }})
	a.printGateTable(&review.Report{Passed: true})
	a.printReport(doctor.Report{Findings: []doctor.Finding{{Status: doctor.OK, Area: "git"}}}, true)
	for _, green := range []string{"\x1b[32mThe gate passes: nothing was found.\x1b[0m", "\x1b[32m1 ok, 0 to know, 0 to mend\x1b[0m"} {
		check.That(t, strings.Contains(out.String(), green), "%q", out.String())
	}
}

// TestRecordIDsHaveOneLength: whatever tells a person of a record tells as much of its id as log does. Only show, which is
// about one record, has the whole.
func TestRecordIDsHaveOneLength(t *testing.T) {
	dir := toldStory(t)
	intents := strings.Replace(storyIntents, "name: Build Weather API\n", "name: Build Weather API\n    verify: [npm test]\n", 1)
	check.OK(t, os.WriteFile(filepath.Join(dir, ".orchestration/active_intents.yaml"), []byte(intents), 0o644))
	short, other := regexp.MustCompile(`\b[0-9a-f]{8}\b`), regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}|[0-9a-f]{7}…`)
	says := func(args ...string) {
		t.Helper()
		out, errs, _ := run(t, dir, args...)
		told := strings.ReplaceAll(out+errs, storySession, "")
		check.That(t, short.MatchString(told) && !other.MatchString(told), "%s:\n%s", args, told)
	}
	says("log")
	says("blame", "src/weather.ts")
	says("why", "src/weather.ts:1")
	says("status")
	says("undo", storyID(1), "--yes") // it has changed since
	says("undo", storyID(4), "--yes")
	says("undo", storyID(4), "--yes") // it is undone already
	says("intents", "done", "INT-002", "--no-verify")
	ledgerFile := filepath.Join(dir, ".orchestration/agent_trace.jsonl")
	lines := check.Value(os.ReadFile(ledgerFile))(t)
	first, rest, _ := bytes.Cut(lines, []byte("\n"))
	_, rest, _ = bytes.Cut(rest, []byte("\n"))
	check.OK(t, os.WriteFile(ledgerFile, append(append(first, '\n'), rest...), 0o644))
	says("verify")
}
