package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/command/staging"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// standsFor is what the words in capitals of a command's use mean in the workspace of the test, of a group first.
func standsFor(w *asked) map[string]func() string {
	is := func(text string) func() string { return func() string { return text } }
	return map[string]func() string{
		"ID": is("INT-001"), "INTENT": is("INT-001"), "NAME": is("More"), "GLOB": is("docs/**"), "RECORD": is(storyID(1)), "FILE": is("src/weather.ts"), "FILE:LINE": is("src/weather.ts:1"),
		"REVISION": is("HEAD"), "REMOTE": is("origin"), "DIR": is("."), "BEFORE": is("src/weather.ts"), "AFTER": is("docs/notes.md"),
		"attest FILE": is("attested.json"), "gate REVISION": is("HEAD~1"), "approvals ID": func() string { return w.put(callTo("docs/" + rand.Text())) },
		"approvals revoke ID": func() string {
			id := w.put(callTo("docs/granted.md"))
			_, _, err := w.store.Answer(id, approval.Answer{Decision: approval.ForIntent})
			check.OK(w.t, err)
			return id
		},
		"staged ID":    func() string { return stage(w.t, w.dir, "src/made.ts") },
		"servers NAME": is("files"), "TOOL": is("upload"),
	}
}

// stage keeps a layer with one new file, as a command leaves it.
func stage(t *testing.T, dir, path string) string {
	t.Helper()
	ws := check.Value(workspace.Open(dir))(t)
	defer ws.Close()
	layers := check.Value(staging.Open(ws))(t)
	check.Value(layers.Over([]string{dir}))(t)
	made := filepath.Join(layers.Upper(0), path)
	check.OK(t, os.MkdirAll(filepath.Dir(made), 0o755))
	check.OK(t, os.WriteFile(made, []byte("made\n"), 0o644))
	check.OK(t, layers.Keep(5, map[string]any{"since": time.Now().UnixNano(), "intent": "INT-001", "command": "make it", "cwd": ".", "files": 1}))
	return layers.ID()
}

// callOf makes a call of what a command says of its use.
func callOf(t *testing.T, cmd *cobra.Command, path string, means map[string]func() string) []string {
	t.Helper()
	args := strings.Fields(path)
	_, use, _ := strings.Cut(cmd.Use, " ")
	for word := range strings.FieldsSeq(strings.NewReplacer("[", "", "]", "", "...", "", "…", "").Replace(use)) {
		if word == "|" {
			break
		}
		word = word[strings.LastIndexByte(word, '|')+1:]
		if word == strings.ToUpper(word) {
			keys := []string{path + " " + word, args[0] + " " + word, word}
			at := slices.IndexFunc(keys, func(key string) bool { return means[key] != nil })
			check.Must(t, at >= 0, "%s: nothing in the workspace of this test is a %s", path, word)
			word = means[keys[at]]()
		}
		args = append(args, word)
	}
	for _, flag := range []string{"dry-run", "yes"} {
		if cmd.Flags().Lookup(flag) != nil {
			args = append(args, "--"+flag)
			break
		}
	}
	return append(args, "--json")
}

// TestEveryCommandSpeaksJSON: each command of the tree takes --json and prints JSON documents with it, or says why not.
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
	_, errs, code := run(t, w.dir, "attest", "--base", "HEAD~1", "--out", "attested.json")
	check.Must(t, code == exitDone, "%v", errs)
	userDir := settings.UserDir(os.Environ())
	check.OK(t, os.WriteFile(filepath.Join(userDir, settings.FileName), []byte("servers: [{name: files, command: fixture-server}]\n"), 0o600))
	check.OK(t, errors.Join(observed(userDir, "files", ""), observed(userDir, "files", "changed")))
	means := standsFor(w)
	root := newRootCommand(newApp(systemStreams(), systemEnvironment()))
	for _, path := range leaves(root) {
		cmd, _, err := root.Find(strings.Fields(path))
		check.OK(t, err)
		if cobras := path == "help" || strings.HasPrefix(path, "completion "); cobras || cmd.Annotations[withoutJSON] != "" {
			continue
		}
		out, errs, code := run(t, w.dir, callOf(t, cmd, path, means)...)
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
		check.That(t, cmd.GroupID != "" || cmd.Hidden, "%s is in no group of the help", cmd.Name())
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
