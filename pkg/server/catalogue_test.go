package server_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

var update = flag.Bool("update", false, "rewrite the generated part of docs/refusals.md")

// A hint that reads like a tool names a tool that the server has.
func TestHintsNameRealTools(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t)).connect()
	var names []string
	for _, spec := range b.server.Specs() {
		names = append(names, spec.Name)
	}
	actions := []string{
		refusal.HintChooseFile, refusal.HintFollowConstraints, refusal.HintCorrectClass,
		refusal.HintAskUser, refusal.HintRetry, refusal.HintFixArguments,
	}
	for _, e := range refusal.Catalogue() {
		check.That(t, slices.Contains(names, e.Hint) || slices.Contains(actions, e.Hint),
			"%s: the hint %s is neither a tool nor an action", e.Code, e.Hint)
		for _, word := range regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b`).FindAllString(e.Next, -1) {
			check.That(t, slices.Contains(names, word) || slices.Contains([]string{"active_intents", "start_line", "intent_id"}, word),
				"%s: the suggestion names %s, which is no tool", e.Code, word)
		}
	}
}

// The table of docs/refusals.md is made from the catalogue.
func TestRefusalsTable(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- refusals: begin", "<!-- refusals: end -->"
	path := "../../docs/refusals.md"
	content := check.Value(os.ReadFile(path))(t)
	text := string(content)
	i, j := strings.Index(text, begin), strings.Index(text, end)
	check.Must(t, i >= 0 && j >= i, "docs/refusals.md has no markers for the table")
	i += strings.Index(text[i:], "\n") + 1
	var table strings.Builder
	table.WriteString("| error_type | when | action_hint |\n| --- | --- | --- |\n")
	for _, e := range refusal.Catalogue() {
		fmt.Fprintf(&table, "| `%s` | %s | `%s` |\n", e.Code, e.Occurs, e.Hint)
	}
	if text[i:j] == table.String() {
		return
	}
	check.Must(t, *update, "docs/refusals.md is out of step with pkg/refusal: go test ./pkg/server -run TestRefusalsTable -update")
	check.OK(t, os.WriteFile(path, []byte(text[:i]+table.String()+text[j:]), 0o644))
}

// However much fails, an agent gets no more than it can use: how many, and the
// first ones in full.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	var file, blocks, patched strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&file, "line %d of the file, which is neither short nor long\n", i)
		fmt.Fprintf(&blocks, "<<<<<<< SEARCH\nline %d of a file, which is neither short nor long\n=======\nx\n>>>>>>> REPLACE\n", i)
	}
	dir := newWorkspace(t)
	check.Write(t, dir, "src/long.txt", file.String())
	patched.WriteString("*** Begin Patch\n")
	for i := range 300 {
		check.Write(t, dir, fmt.Sprintf("src/many/%d.txt", i), file.String()[:2000])
		fmt.Fprintf(&patched, "*** Update File: src/many/%d.txt\n@@\n-line 1 of no file\n+x\n", i)
	}
	patched.WriteString("*** End Patch\n")
	b, s := start(t, dir).under("INT-001")
	paths := make([]any, 20_000)
	for i := range paths {
		paths[i] = i
	}
	for name, c := range map[string]struct {
		code, tool string
		args       args
		says       string
	}{
		"blocks":   {"DIFF_NOT_APPLIED", "apply_diff", args{"path": "src/long.txt", "diff": blocks.String(), "session": s}, "2000 of 2000 blocks"},
		"files":    {"DIFF_NOT_APPLIED", "apply_patch", args{"patch": patched.String(), "session": s}, "300 files of the patch"},
		"old text": {"DIFF_NOT_APPLIED", "edit_file", args{"path": "src/long.txt", "old_string": strings.Repeat("no such line\n", 50_000), "new_string": "", "session": s}, "old_string is not in the file"},
		"values":   {"INVALID_ARGUMENTS", "request_scope_expansion", args{"paths": paths[:100], "reason": "x", "session": s}, "paths/0"},
		"many":     {"INVALID_ARGUMENTS", "request_scope_expansion", args{"paths": paths, "reason": "x", "session": s}, "paths: got 20000 items"},
		"a regex":  {"INVALID_ARGUMENTS", "search_files", args{"regex": strings.Repeat("(", 500_000)}, "regex:"},
	} {
		r := b.refused(c.code, c.tool, c.args)
		check.That(t, len(r.Text) <= 48<<10 && strings.Contains(r.str("error"), c.says), "%s: %d bytes, %.300s", name, len(r.Text), r.Text)
	}
}
