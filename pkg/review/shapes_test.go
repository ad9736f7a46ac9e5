package review_test

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/review"
)

// shape is a pull request with the verdict known. It is made on the branch work, whose base is main with src/a.txt (20 lines)
// and docs/manual.txt.
type shape struct {
	name            string
	do              func(r *repo)
	tree            bool   // the ledger stands in the tree
	below           string // of the repository, where the workspace is
	opts            review.Options
	changed, traced int    // lines
	found           string // the findings, as summary gives them
	says            string // some finding or what is unproven has this
	err             error  // it cannot be judged
	broken          bool   // the shape leaves the ledger with problems
}

func shapes() []shape {
	return slices.Concat(handShapes(), fileShapes(), branchShapes(), returnShapes(), recordShapes(), ledgerShapes())
}

// TestShapes holds the gate to the verdict on each shape. Run it with -v for the table.
func TestShapes(t *testing.T) {
	ownHome(t)
	all := shapes()
	rows := make([]string, len(all))
	t.Cleanup(func() { // the shapes run in parallel, after this function
		t.Logf("| shape | ledger | verdict | traced | findings |\n| --- | --- | --- | --- | --- |\n%s", strings.Join(rows, "\n"))
	})
	for i, s := range all {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			rows[i] = s.run(t)
		})
	}
}

func (s *shape) run(t *testing.T) (row string) {
	r := newRepoWith(t, s.below, !s.tree)
	r.broken = s.broken
	if s.tree {
		r.traced("INT-002", "docs/manual.txt", "manual\n") // the ledger has lines before the range
		r.commit("recorded")
	}
	r.git("switch", "-qc", "work")
	s.do(r)
	if s.opts.Base == "" {
		s.opts.Base = "main"
	}
	ledgerIn := map[bool]string{true: "tree", false: "ref"}[s.tree]
	report, err := review.Run(t.Context(), r.root, s.opts)
	check.Must(t, errors.Is(err, s.err) && (err == nil || s.err != nil), "%v, want %v", err, s.err)
	if err != nil {
		return fmt.Sprintf("| %s | %s | not judged | | %v |", s.name, ledgerIn, s.err)
	}
	if got := summary(report); got != s.found || report.Lines.Changed() != s.changed || report.Lines.Traced != s.traced {
		t.Errorf("%d of %d lines are traced, %s\nwant %d of %d, %s\n%+v\n%s", report.Lines.Traced, report.Lines.Changed(), got, s.traced, s.changed, s.found,
			report.Files, strings.Join(said(report), "\n"))
	}
	if !strings.Contains(strings.Join(said(report), "\n"), s.says) {
		t.Errorf("nothing says %q:\n%s", s.says, strings.Join(said(report), "\n"))
	}
	check.That(t, report.Passed != strings.Contains(s.found, "error"), "passed %v with %s", report.Passed, s.found)
	verdict := map[bool]string{true: "passed", false: "failed"}[report.Passed]
	return fmt.Sprintf("| %s | %s | %s | %d of %d | %s |", s.name, ledgerIn, verdict, report.Lines.Traced, report.Lines.Changed(), s.found)
}

// summary counts the findings by severity and check, as "2 error scope, 1 note untraced".
func summary(report *review.Report) string {
	var parts []string
	for _, severity := range []review.Severity{review.Error, review.Warning, review.Note} {
		for _, info := range review.Checks() {
			if n := report.Count(info.Check, severity); n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s %s", n, severity, info.Check))
			}
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing")
}

func said(report *review.Report) (texts []string) {
	for _, severity := range []review.Severity{review.Error, review.Warning, review.Note} {
		for _, text := range found(report, severity) {
			texts = append(texts, string(severity)+" "+text)
		}
	}
	return append(texts, report.Unproven...)
}

// agent writes a file under the intent that owns it.
func (r *repo) agent(path, content string) {
	r.t.Helper()
	r.traced("INT-001", path, content)
}

// by gives lines of somebody.
func by(who string, from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%s has written line %d here\n", who, i)
	}
	return b.String()
}

// handShapes are edits of one file before one commit.
func handShapes() []shape {
	written := lines(1, 20) + by("agent", 1, 10)
	handed := func(touch func(r *repo)) func(r *repo) {
		return func(r *repo) {
			r.agent("src/a.txt", written)
			touch(r)
			r.commit("work")
		}
	}
	return []shape{
		{name: "an agent's change", changed: 10, traced: 10, found: "nothing", do: handed(func(*repo) {})},
		{name: "a person's change", changed: 5, found: "1 note untraced", do: func(r *repo) {
			r.write("src/a.txt", lines(1, 20)+by("person", 1, 5))
			r.commit("work")
		}},
		{name: "both in one file", changed: 13, traced: 10, found: "1 note untraced", do: handed(func(r *repo) {
			r.write("src/a.txt", by("person", 1, 3)+written)
		})},
		{name: "one line edited before the commit", changed: 10, traced: 9, found: "1 note untraced", do: handed(func(r *repo) {
			r.write("src/a.txt", strings.Replace(written, "line 4 here", "line four, and it says more", 1))
		})},
		{name: "reindented before the commit", changed: 10, traced: 10, found: "nothing", do: handed(func(r *repo) {
			r.write("src/a.txt", lines(1, 20)+"\t"+strings.ReplaceAll(strings.TrimSpace(by("agent", 1, 10)), "\n", "\n\t")+"\n")
		})},
		{name: "a blank line put in before the commit", changed: 11, traced: 10, found: "1 note untraced", do: handed(func(r *repo) {
			r.write("src/a.txt", lines(1, 20)+by("agent", 1, 5)+"\n"+by("agent", 6, 10))
		})},
		{name: "half of it committed (add -p)", changed: 5, traced: 5, found: "nothing", do: handed(func(r *repo) {
			r.write("src/a.txt", lines(1, 20)+by("agent", 1, 5))
		})},
		{name: "the other half too", changed: 10, traced: 10, found: "nothing", do: handed(func(r *repo) {
			r.write("src/a.txt", lines(1, 20)+by("agent", 6, 10))
			r.commit("half")
			r.write("src/a.txt", written)
		})},
		{name: "a formatter before the commit", changed: 9, traced: 8, found: "1 note untraced", do: func(r *repo) {
			r.agent("src/a.go", "package a\nfunc  Sum(a,b int)int{\n  total:=a+b\n  if total>100{\n  return 100\n  }\n  return total\n}\n")
			r.write("src/a.go", "package a\n\nfunc Sum(a, b int) int {\n\ttotal := a + b\n\tif total > 100 {\n\t\treturn 100\n\t}\n\treturn total\n}\n")
			r.commit("work")
		}},
		{name: "CRLF from a person before the commit", changed: 50, traced: 10, found: "2 note untraced", do: handed(func(r *repo) {
			r.write("src/a.txt", strings.ReplaceAll(written, "\n", "\r\n"))
		})},
		{name: "two intents on one file", changed: 20, traced: 20, found: "nothing", do: handed(func(r *repo) {
			r.agent("src/a.txt", by("first", 1, 10)+written)
		})},
		{name: "an agent replaces what a person wrote in the range", changed: 6, traced: 3, found: "1 note untraced", do: func(r *repo) {
			r.write("src/b.txt", by("person", 1, 6))
			r.commit("by hand")
			r.agent("src/b.txt", by("person", 1, 3)+by("agent", 1, 3))
			r.commit("work")
		}},
		{name: "a person replaces what an agent wrote in the range", changed: 6, traced: 3, found: "1 note untraced", do: func(r *repo) {
			r.agent("src/b.txt", by("agent", 1, 6))
			r.commit("work")
			r.write("src/b.txt", by("agent", 1, 3)+by("person", 1, 3))
			r.commit("by hand")
		}},
		{name: "lines sorted by a person before the commit", changed: 10, traced: 10, found: "nothing", do: handed(func(r *repo) {
			r.write("src/a.txt", lines(1, 20)+by("agent", 6, 10)+by("agent", 1, 5))
		})},
	}
}
