package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
)

// withoutJSON are the commands that print nothing for a script, and why.
var withoutJSON = map[string]string{
	"serve":                 "speaks a protocol",
	"demo":                  "plays a scene for people",
	"approvals watch":       "is a live view; approvals list --json is for scripts",
	"help":                  "is for people",
	"completion bash":       "prints a shell's script",
	"completion zsh":        "prints a shell's script",
	"completion fish":       "prints a shell's script",
	"completion powershell": "prints a shell's script",
}

// jsonCommands are all others with the arguments of a call that has something to print.
func jsonCommands(t *testing.T, w *asked) map[string][]string {
	t.Helper()
	must := func(err error) {
		check.OK(t, err)
	}
	asks := func(path string) string { return w.put(callTo(path)) }
	granted := asks("docs/granted.md")
	_, _, err := w.store.Answer(granted, approval.Answer{Decision: approval.ForIntent})
	must(err)
	for name, text := range map[string]string{"a.go": "package a\n", "b.go": "package a\n\n"} {
		must(os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644))
	}
	return map[string][]string{
		"init": {"--yes"}, "setup": {"vscode", "--print"}, "trust": nil, "doctor": nil, "intents list": nil, "intents show": {"INT-001"},
		"intents add": {"--name", "More"}, "intents validate": nil, "intents scope": {"INT-001"}, "intents map": nil,
		"intents block": {"INT-001"}, "intents start": {"INT-001"}, "intents done": {"INT-001", "--no-verify"}, "intents reopen": {"INT-001"},
		"approvals list": nil, "approvals show": {asks("docs/1.md")}, "approvals approve": {asks("docs/2.md"), "--yes"},
		"approvals deny": {asks("docs/3.md")}, "approvals revoke": {granted},
		"status": nil, "log": nil, "show": {storyID(1)}, "blame": {"src/weather.ts"}, "why": {"src/weather.ts:1"}, "stats": nil,
		"undo": {storyID(1), "--dry-run"}, "export": {"--agent-trace"}, "verify": nil, "gate": {"--base", "HEAD~1"}, "attest verify": {"attested.json"}, "classify": {"a.go", "b.go"},
		"seal": nil, "ledger repair": nil, "ledger merge": nil, "ledger restore": nil, "ledger move": nil, "sync": nil, "git install-hooks": nil,
		"schema": {"settings"}, "version": nil,
	}
}

// TestEveryCommandSpeaksJSON: each command of the tree takes --json and prints JSON documents with it, or says here why not.
func TestEveryCommandSpeaksJSON(t *testing.T) {
	w := newAsked(t)
	check.OK(t, tellStory(w.dir))
	forge := t.TempDir()
	for _, args := range [][]string{
		{"init", "-q"}, {"config", "user.name", "t"}, {"config", "user.email", "t@example.com"}, {"commit", "-q", "--allow-empty", "-m", "one"},
		{"add", "-A"}, {"add", "-f", ".orchestration/agent_trace.jsonl"}, {"commit", "-q", "-m", "two"}, {"init", "-q", "--bare", forge}, {"remote", "add", "origin", forge},
	} {
		_, err := gitOutput(t.Context(), w.dir, args...)
		check.OK(t, err)
	}
	if _, errs, code := run(t, w.dir, "attest", "--base", "HEAD~1", "--out", "attested.json"); code != exitDone {
		t.Fatal(errs)
	}
	calls := jsonCommands(t, w)
	root := newRootCommand(newApp(systemStreams(), systemEnvironment()))
	for _, path := range leaves(root) {
		if withoutJSON[path] != "" {
			continue
		}
		args, known := calls[path]
		if !known {
			t.Errorf("%s is not called by this test: give it --json, or say why not", path)
			continue
		}
		out, errs, code := run(t, w.dir, slices.Concat(strings.Fields(path), args, []string{"--json"})...)
		check.That(t, code == exitDone || code == exitFound, "%s: exit code %d: %s", path, code, errs)
		decoder, documents := json.NewDecoder(strings.NewReader(out)), 0
		for {
			var document any
			err := decoder.Decode(&document)
			if errors.Is(err, io.EOF) {
				break
			}
			if documents++; err != nil {
				t.Errorf("%s prints no JSON: %v: %s", path, err, out)
				break
			}
		}
		check.That(t, documents != 0, "%s prints nothing: %s", path, errs)
	}
}

// leaves are the paths of the commands that do something, without the program's name.
func leaves(root *cobra.Command) (paths []string) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			if sub.Hidden {
				continue
			}
			if !sub.HasSubCommands() {
				paths = append(paths, strings.TrimPrefix(sub.CommandPath(), root.Name()+" "))
			}
			visit(sub)
		}
	}
	visit(root)
	return paths
}

// TestEveryNameIsCompletedAndGrouped: no command stands outside of the groups of the help, no command that takes an id leaves
// the shell to offer files.
func TestEveryNameIsCompletedAndGrouped(t *testing.T) {
	root := newRootCommand(newApp(systemStreams(), systemEnvironment()))
	paths := leaves(root)
	for _, cmd := range root.Commands() {
		if cmd.GroupID == "" && !cmd.Hidden {
			t.Errorf("%s is in no group of the help", cmd.Name())
		}
	}
	for _, path := range paths {
		cmd, _, err := root.Find(strings.Fields(path))
		check.OK(t, err)
		takesName := strings.Contains(cmd.Use, "ID") || strings.Contains(cmd.Use, "RECORD")
		check.That(t, !takesName || cmd.ValidArgsFunction != nil, "%s completes no id", path)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			_, completed := cmd.GetFlagCompletionFunc(f.Name)
			check.That(t, f.Name != "intent" && f.Name != "session" || completed, "%s --%s completes nothing", path, f.Name)
		})
	}
}
