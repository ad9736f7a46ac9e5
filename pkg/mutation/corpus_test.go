package mutation_test

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// labelled is one case of the corpus: what a change is, by the judgement of a person. The corpus is
// testdata/corpus/LANGUAGE.txtar or LANGUAGE-TOPIC.txtar; its sections are
//
//	-- EVIDENCE/CASE/before/PATH --
//	-- EVIDENCE/CASE/after/PATH --
//	-- EVIDENCE/CASE/around/PATH --  optional: another file of the workspace
//	-- EVIDENCE/CASE/reason --      optional: a regular expression for the reason
//
// A case may have several files, which are judged together; one that is missing on a side was created or deleted.
// Without files around it, a case is judged as if nothing were known of others.
type labelled struct {
	want   mutation.Evidence
	name   string
	files  map[string]*mutation.File
	reason string
	around mutation.OtherFiles
	others memory
}

func readCorpus(t *testing.T, name string) (cases []*labelled) {
	t.Helper()
	archive := check.Value(txtar.ParseFile(name))(t)
	byName := map[string]*labelled{}
	for _, section := range archive.Files {
		part := strings.SplitN(section.Name, "/", 4)
		if len(part) < 3 || len(part) == 3 && part[2] != "reason" {
			t.Fatalf("%s: section %q: want EVIDENCE/CASE/before/PATH", name, section.Name)
		}
		c := byName[part[1]]
		if c == nil {
			c = &labelled{want: mutation.Evidence(part[0]), name: part[1], files: map[string]*mutation.File{}}
			byName[part[1]] = c
			cases = append(cases, c)
		}
		if c.want != mutation.Evidence(part[0]) {
			t.Fatalf("%s: the case %s has two labels", name, part[1])
		}
		c.add(t, part, section.Data)
	}
	return cases
}

func (c *labelled) add(t *testing.T, part []string, data []byte) {
	t.Helper()
	switch part[2] {
	case "reason":
		c.reason = strings.TrimSpace(string(data))
		return
	case "around":
		if c.others == nil {
			c.others = memory{}
			c.around = c.others
		}
		c.others[part[3]] = data
		return
	}
	f := c.files[part[3]]
	if f == nil {
		f = &mutation.File{Path: part[3]}
		c.files[part[3]] = f
	}
	content := append([]byte{}, data...)
	switch part[2] {
	case "before":
		f.Before = content
	case "after":
		f.After = content
	default:
		t.Fatalf("the case %s has a side %q", c.name, part[2])
	}
}

func (c *labelled) judge(t *testing.T) mutation.Verdict {
	var files []mutation.File
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		files = append(files, *c.files[name])
	}
	return mutation.JudgeAmong(t.Context(), files, c.around, patient())
}

// TestCorpus holds every label, and says how many of the pairs are refactors. A fourth of these it judges the other way round
// too, with ORCHESTRA_LONG=1 all.
func TestCorpus(t *testing.T) {
	names, err := filepath.Glob("testdata/corpus/*.txtar")
	check.Must(t, err == nil && len(names) != 0, "no corpus: %v", err)
	pairs, refactors := 0, 0
	for _, name := range names {
		language := strings.TrimSuffix(filepath.Base(name), ".txtar")
		t.Run(language, func(t *testing.T) {
			cases := readCorpus(t, name)
			seen := map[mutation.Evidence]int{}
			for i, c := range cases {
				seen[c.want]++
				if check.Short() && i%48 != 0 {
					continue // the rest is for runs without the race detector
				}
				t.Run(c.name, func(t *testing.T) { c.check(t, i%4 == 0 || check.Long()) })
			}
			pairs += len(cases)
			refactors += seen[mutation.Proven] + seen[mutation.ProvenLocal]
			t.Logf("%d pairs: %v", len(cases), seen)
		})
	}
	t.Logf("%d pairs, %d refactors", pairs, refactors)
}

func (c *labelled) check(t *testing.T, back bool) {
	v := c.judge(t)
	check.That(t, v.Evidence == c.want, "%s (%s), want %s", v.Evidence, v.Reason, c.want)
	check.That(t, v.Reason != "" && !strings.ContainsAny(v.Reason, "\n\r"), "the reason is not one line: %q", v.Reason)
	check.That(t, c.reason == "" || regexp.MustCompile(c.reason).MatchString(v.Reason), "the reason %q is not %q", v.Reason, c.reason)
	if back && isRefactor(v) {
		c.checkBack(t)
	}
}

// checkBack judges the change the other way round: what is the same is the same in both directions.
func (c *labelled) checkBack(t *testing.T) {
	turned := &labelled{around: c.around, files: map[string]*mutation.File{}}
	for name, f := range c.files {
		turned.files[name] = &mutation.File{Path: f.Path, Before: f.After, After: f.Before}
	}
	v := turned.judge(t)
	check.That(t, isRefactor(v), "backwards it is %s (%s)", v.Evidence, v.Reason)
}
