package shell_test

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
)

// Lines of daily work are judged: where a rule denies something else, nobody is
// asked about them. Each that is not has its reason beside it.
func TestDailyLines(t *testing.T) {
	known := map[string]bool{
		// Without declare -A, which may not have run, the text of k is evaluated.
		`declare -A m=([a]=1 [b]=2); for k in "${!m[@]}"; do echo "$k ${m[$k]}"; done`: true,
	}
	for _, line := range daily() {
		r := shell.Read(line, shell.Bash)
		check.That(t, len(r.Unjudged) == 0 || known[line], "%q is unjudged: %q", line, r.Unjudged)
	}
	n := len(daily())
	check.That(t, n >= 150, "only %d lines", n)
}

//go:embed testdata/daily.txt
var dailyTexts string

func daily() []string { return readTexts(dailyTexts)["line"] }

// readTexts reads a file of texts, one a line, in sections: "= name". ⏎, ⇥, ␍ and ␣ stand for white space.
func readTexts(file string) map[string][]string {
	sections, escapes := map[string][]string{}, strings.NewReplacer("⏎", "\n", "⇥", "\t", "␍", "\r", "␣", "\u00a0")
	name := ""
	for line := range strings.SplitSeq(strings.TrimSuffix(file, "\n"), "\n") {
		if section, is := strings.CutPrefix(line, "= "); is {
			name = section
		} else {
			sections[name] = append(sections[name], escapes.Replace(line))
		}
	}
	return sections
}
