package edit_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// block writes a search block; head lines stand under its marker.
func block(old, new string, head ...string) string {
	lines := append([]string{"<<<<<<< SEARCH"}, head...)
	if len(head) > 0 {
		lines = append(lines, "-------")
	}
	if old != "" {
		lines = append(lines, old)
	}
	lines = append(lines, "=======")
	if new != "" {
		lines = append(lines, new)
	}
	return strings.Join(append(lines, ">>>>>>> REPLACE"), "\n") + "\n"
}

// applied checks the text of a result, and that its notes have note, or that there are none.
func applied(t *testing.T, name string, got edit.Result, err error, want, note string) {
	t.Helper()
	check.That(t, err == nil && got.Text == want, "%s: got  %q, %v\nwant %q", name, got.Text, err, want)
	all := strings.Join(got.Notes, "\n")
	check.That(t, (note == "") == (all == "") && strings.Contains(all, note), "%s: notes %q, want %q", name, all, note)
}

// refused checks that there is no text but an error of a kind that says all texts.
func refused(t *testing.T, name string, got edit.Result, err, kind error, texts ...string) {
	t.Helper()
	check.That(t, errors.Is(err, kind) && got.Text == "", "%s: got %q, %v, want %v", name, got.Text, err, kind)
	for _, text := range texts {
		check.That(t, err == nil || strings.Contains(err.Error(), text), "%s: %q does not say %q", name, err, text)
	}
}

// malformed checks that the error names what is wrong with a diff, and its line.
func malformed(t *testing.T, name string, err error, line int, reason string) {
	t.Helper()
	var syntax *edit.SyntaxError
	if !errors.As(err, &syntax) || !errors.Is(err, edit.ErrSyntax) || syntax.Line != line || !strings.Contains(syntax.Reason, reason) {
		t.Errorf("%s: got %v; want line %d, %q", name, err, line, reason)
	}
}

// showsEach fails unless the file's line at each place stands in surroundings.
func showsEach(t *testing.T, surroundings string, places []int) {
	t.Helper()
	for _, line := range places {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^ *%d \|`, line)).MatchString(surroundings) {
			t.Errorf("line %d is not shown in\n%s", line, surroundings)
		}
	}
}

func TestAllBlocksOrNone(t *testing.T) {
	original := "alpha\nbeta\ngamma\ngamma\n"
	_, err := edit.ApplyDiff(original, block("alpha", "A")+block("betta", "B", ":start_line:2")+block("gamma", "G"), edit.Options{})
	var match *edit.MatchError
	check.Must(t, errors.As(err, &match), "%v", err)
	check.Must(t, match.Total == 3 && len(match.Blocks) == 2, "%+v", match)
	second, third := match.Blocks[0], match.Blocks[1]
	if second.Index != 2 || second.BestStart != 2 || second.BestEnd != 2 || second.Score != 0.8 || second.StartLine != 2 {
		t.Errorf("second block %+v", second)
	}
	if second.Surroundings != "1 | alpha\n2 | beta\n3 | gamma\n4 | gamma\n" || second.Search != "betta" {
		t.Errorf("second block %+v", second)
	}
	check.That(t, third.Index == 3 && slices.Equal(third.Candidates, []int{3, 4}), "third block %+v", third)
	check.That(t, errors.Is(err, edit.ErrNoMatch) && errors.Is(err, edit.ErrAmbiguous), "%v is not of both kinds", err)
}

func TestMalformedBlocks(t *testing.T) {
	good := block("a", "b")
	for _, c := range []struct {
		name, diff string
		line       int
		text       string
	}{
		{"empty", "  \n", 0, "empty"},
		{"prose", "please change it", 0, "neither"},
		{"a patch", "*** Begin Patch\n*** End Patch", 0, "apply_patch"},
		{"no divider", "<<<<<<< SEARCH\na\n>>>>>>> REPLACE", 3, "no \"=======\""},
		{"no end", good + "<<<<<<< SEARCH\na\n=======\nb\n", 9, "block 2"},
		{"no divider and no end", "<<<<<<< SEARCH\na\n", 2, "\"=======\" is missing"},
		{"divider first", "=======\na\n>>>>>>> REPLACE", 1, "outside a block"},
		{"end first", ">>>>>>> REPLACE\n" + good, 1, "outside a block"},
		{"two dividers", block("a", "b\n=======\nc"), 5, "backslash"},
		{"block in a block", "<<<<<<< SEARCH\na\n" + good, 3, "not closed"},
		{"conflict in the search", block("<<<<<<< HEAD\na", "b"), 2, `\<<<<<<< HEAD`},
		{"conflict in the replacement", block("a", ">>>>>>> main"), 4, `\>>>>>>> main`},
		{"start line in the replacement", block("a", ":start_line:3\nb"), 4, "belongs under"},
		{"start line without number", block("a", "b", ":start_line:x"), 2, ":start_line:N"},
		{"start line too large", block("a", "b", ":start_line:99999999999999999999"), 2, "too large"},
		{"other arrows", "<<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE", 1, "not a marker"},
	} {
		_, err := edit.ApplyDiff("a\n", c.diff, edit.Options{})
		malformed(t, c.name, err, c.line, c.text)
	}
}

// However much fails, the error fits into an agent's context.
func TestErrorTextIsBounded(t *testing.T) {
	wide := strings.Repeat("x", 1_000)
	original := strings.Repeat(wide+"\n", 50)
	diff := strings.Repeat(block(strings.Repeat(wide+"y\n", 20)+"z", "q"), 20)
	_, err := edit.ApplyDiff(original, diff, edit.Options{})
	if text := err.Error(); len(text) > 20_000 || !strings.Contains(text, "The first of them are shown (1)") || !strings.Contains(text, "20 of 20") {
		t.Errorf("%d bytes: %.200s", len(text), text)
	}
}

func TestShortenedLinesAreWhole(t *testing.T) {
	_, err := edit.ApplyDiff(strings.Repeat("ü", 500)+"\n", block(strings.Repeat("ü", 499), "q"), edit.Options{})
	check.That(t, strings.Contains(err.Error(), "ü…") && !strings.ContainsRune(err.Error(), '\uFFFD'), "%q", err)
}
