package server_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

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
		if !slices.Contains(names, e.Hint) && !slices.Contains(actions, e.Hint) {
			t.Errorf("%s: the hint %s is neither a tool nor an action", e.Code, e.Hint)
		}
		for _, word := range regexp.MustCompile(`\b[a-z]+(_[a-z]+)+\b`).FindAllString(e.Next, -1) {
			if !slices.Contains(names, word) && !slices.Contains([]string{"active_intents", "start_line", "intent_id"}, word) {
				t.Errorf("%s: the suggestion names %s, which is no tool", e.Code, word)
			}
		}
	}
}

// The table of docs/refusals.md is made from the catalogue.
func TestRefusalsTable(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- refusals: begin", "<!-- refusals: end -->"
	path := "../../docs/refusals.md"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	i, j := strings.Index(text, begin), strings.Index(text, end)
	if i < 0 || j < i {
		t.Fatal("docs/refusals.md has no markers for the table")
	}
	i += strings.Index(text[i:], "\n") + 1
	var table strings.Builder
	table.WriteString("| error_type | when | action_hint |\n| --- | --- | --- |\n")
	for _, e := range refusal.Catalogue() {
		fmt.Fprintf(&table, "| `%s` | %s | `%s` |\n", e.Code, e.Occurs, e.Hint)
	}
	if text[i:j] == table.String() {
		return
	}
	if !*update {
		t.Fatal("docs/refusals.md is out of step with pkg/refusal: go test ./pkg/server -run TestRefusalsTable -update")
	}
	if err := os.WriteFile(path, []byte(text[:i]+table.String()+text[j:]), 0o644); err != nil {
		t.Fatal(err)
	}
}
