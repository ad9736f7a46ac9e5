package languages_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// oracleRename is a renaming that another program made, one JSON object a line
// in evidence/renames.sh's output. Offsets are bytes.
type oracleRename struct {
	Path, Name, Fresh, Kind string
	Edits                   []struct {
		Start, End int
		Text       string
	}
}

func (r oracleRename) apply(text string) string {
	var out strings.Builder
	at := 0
	slices.SortFunc(r.Edits, func(x, y struct {
		Start, End int
		Text       string
	}) int {
		return x.Start - y.Start
	})
	for _, e := range r.Edits {
		if e.Start < at || e.End > len(text) {
			return ""
		}
		out.WriteString(text[at:e.Start] + e.Text)
		at = e.End
	}
	return out.String() + text[at:]
}

// TestOracles takes renamings from programs that are not this one: compilers,
// language servers and the like, as evidence/renames.sh left them in the
// directory ORCHESTRA_ORACLES, a file LANGUAGE.jsonl each. At least 90 of 100
// of those of locals, parameters and names of the file must be recognised.
// Members are counted, and held to nothing: a server looks at other files, too.
func TestOracles(t *testing.T) {
	dir := os.Getenv("ORCHESTRA_ORACLES")
	if dir == "" {
		checkOracle(t)
		return
	}
	for _, language := range languages.Names() {
		text, err := os.ReadFile(filepath.Join(dir, language+".jsonl"))
		if err != nil {
			continue
		}
		c := recognition{t: t, language: language, texts: map[string]string{}, byKind: map[string]*[2]int{}}
		for line := range strings.Lines(string(text)) {
			var r oracleRename
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatalf("%s: %v", language, err)
			}
			c.check(r)
		}
		c.report()
	}
}

// held are the kinds of names that are held to the bar. An import is another
// file's name.
var held = []string{"local", "parameter", "parameter without body", "file", "type parameter"}

type recognition struct {
	t        *testing.T
	language string
	texts    map[string]string
	byKind   map[string]*[2]int
	refused  int
	misses   []string
}

func (c *recognition) check(r oracleRename) {
	text, ok := c.texts[r.Path]
	if !ok {
		if content, err := os.ReadFile(r.Path); err == nil && languages.Tokens(c.language, content) != nil {
			text = string(content)
		} else {
			c.refused++
		}
		c.texts[r.Path] = text
	}
	after := r.apply(text)
	if text == "" || after == "" || after == text {
		return
	}
	v := evidence(c.language, "file"+filepath.Ext(r.Path), text, after)
	if c.byKind[r.Kind] == nil {
		c.byKind[r.Kind] = &[2]int{}
	}
	c.byKind[r.Kind][1]++
	if isProven(v) {
		c.byKind[r.Kind][0]++
		return
	}
	c.misses = append(c.misses, fmt.Sprintf("%s %s in %s: %s", r.Kind, r.Name, shortPath(r.Path), v.Reason))
	keepMiss(fmt.Sprintf("rename-%s-%d-%s", c.language, len(c.misses), filepath.Base(r.Path)), text, after)
}

func (c *recognition) report() {
	known, all := 0, 0
	for _, kind := range slices.Sorted(keys(c.byKind)) {
		n := c.byKind[kind]
		c.t.Logf("%s: %s: %d of %d", c.language, kind, n[0], n[1])
		if slices.Contains(held, kind) {
			known, all = known+n[0], all+n[1]
		}
	}
	c.t.Logf("%s: %d of %d renamings of names of the file itself; %d files are not understood", c.language, known, all, c.refused)
	if all == 0 || 100*known < 90*all {
		c.t.Errorf("%s: below the bar", c.language)
	}
	for _, miss := range c.misses {
		c.t.Logf("%s: missed: %s", c.language, miss)
	}
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// checkOracle is the short form: renamings as four of the oracles left them.
func checkOracle(t *testing.T) {
	file, err := os.Open("testdata/renames.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	count := 0
	for lines := bufio.NewScanner(file); lines.Scan(); count++ {
		var r oracleRename
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(r.Path)
		if err != nil {
			t.Fatal(err)
		}
		language := languageOf(r.Path)
		if v := evidence(language, r.Path, string(text), r.apply(string(text))); !isProven(v) {
			t.Errorf("%s: %s %s: %s", r.Path, r.Kind, r.Name, v.Reason)
		} else if len(v.Renames) == 0 || !slices.ContainsFunc(v.Renames, func(x verdict.Rename) bool { return x.From == r.Name && x.To == r.Fresh }) {
			t.Errorf("%s: %s %s is not among %v", r.Path, r.Kind, r.Name, v.Renames)
		}
	}
	if count < 20 {
		t.Errorf("%d renamings", count)
	}
}

func languageOf(path string) string {
	for language, endings := range extensions {
		if filepath.Ext(path) == endings[0] || slices.Contains(endings, filepath.Ext(path)) {
			return language
		}
	}
	return ""
}
