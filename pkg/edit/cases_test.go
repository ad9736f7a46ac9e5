package edit_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// editCase is one of testdata/cases/TOPIC.txtar, by the names of its sections:
//
//	-- CASE/file --   the text before
//	-- CASE/diff --   what apply_diff is given, or CASE/patch for apply_patch
//	-- CASE/threshold --  of similarity, if it is on
//	-- CASE/want --   the text afterwards, without notes if there is no section note
//	-- CASE/note --   a part of the notes
//	-- CASE/error --  or the kind of the error, then parts of its text, a line each
//
// Among these, "at 1, 3" are the places that are listed, and shown.
// ␍ is a carriage return, ␠ a space at the end of a line, ␄ the end of a text without a final newline, and ×90 a line that
// stands ninety times.
type editCase map[string]string

var pictures = strings.NewReplacer("␄\n", "", "␍", "\r", "␠", " ")

var repeated = regexp.MustCompile(`(?m)^×(\d+) (.*\n)`)

func TestCases(t *testing.T) {
	for _, name := range check.Value(filepath.Glob("testdata/cases/*.txtar"))(t) {
		cases := map[string]editCase{}
		for _, section := range check.Value(txtar.ParseFile(name))(t).Files {
			id, part, _ := strings.Cut(section.Name, "/")
			if cases[id] == nil {
				cases[id] = editCase{}
			}
			cases[id][part] = pictures.Replace(repeated.ReplaceAllStringFunc(string(section.Data), func(line string) string {
				m := repeated.FindStringSubmatch(line)
				n, _ := strconv.Atoi(m[1])
				return strings.Repeat(m[2], n)
			}))
		}
		for id, c := range cases {
			t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar")+"/"+id, c.check)
		}
	}
}

func (c editCase) apply() (edit.Result, error) {
	threshold, _ := strconv.ParseFloat(strings.TrimSpace(c["threshold"]), 64)
	opt := edit.Options{Threshold: threshold}
	if diff, ok := c["diff"]; ok {
		return edit.ApplyDiff(c["file"], diff, opt)
	}
	p, err := edit.ParsePatch(c["patch"])
	if err != nil {
		return edit.Result{}, err
	}
	return p.Sections[0].Apply(c["file"], opt)
}

var kinds = map[string]error{"no match": edit.ErrNoMatch, "ambiguous": edit.ErrAmbiguous, "indentation": edit.ErrIndentation, "overlap": edit.ErrOverlap,
	"no change": edit.ErrNoChange, "empty search": edit.ErrEmptySearch, "malformed": edit.ErrSyntax}

func (c editCase) check(t *testing.T) {
	got, err := c.apply()
	if want, ok := c["want"]; ok {
		check.OK(t, err)
		check.Equal(t, got.Text, want)
		notes, note := strings.Join(got.Notes, "\n"), strings.TrimSpace(c["note"])
		check.That(t, (note == "") == (notes == "") && strings.Contains(notes, note), "notes %q, want %q", notes, note)
		return
	}
	kind, texts, _ := strings.Cut(strings.TrimSpace(c["error"]), "\n")
	check.Must(t, kinds[kind] != nil && errors.Is(err, kinds[kind]) && got.Text == "", "got %q, %v, want %q", got.Text, err, kind)
	for text := range strings.Lines(texts) {
		text = strings.TrimSuffix(text, "\n")
		if places, is := strings.CutPrefix(text, "at "); is {
			match, _ := errors.AsType[*edit.MatchError](err)
			f := match.Blocks[0]
			check.Equal(t, strings.Trim(strings.ReplaceAll(fmt.Sprint(f.Candidates), " ", ", "), "[]"), places)
			showsEach(t, f.Surroundings, f.Candidates)
			continue
		}
		check.That(t, strings.Contains(err.Error(), text), "%q does not say %q", err, text)
	}
}
