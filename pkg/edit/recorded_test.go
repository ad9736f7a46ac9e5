package edit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

type recordedCase struct {
	Name     string
	Original string
	Diff     string
	Options  struct {
		FuzzyThreshold float64
		BufferLines    int
	}
	Expected struct {
		Success   bool
		Content   string
		Error     string
		FailParts []struct{ Error string }
	}
}

// exception is a recorded case that we answer differently, on purpose.
type exception struct {
	reason string
	want   string // what our result has before the recorded one
	err    error
}

// exceptions by the last part of the case's name. README.md lists the same ones.
var exceptions = map[string]exception{
	"should find matches from middle out": {
		reason: "five places fit and no start line is given: the original takes the middle one, we name all five",
		err:    edit.ErrAmbiguous,
	},
	"should handle mixed indentation styles in the same file": {
		reason: "the search has a line with the wrong indentation: the original writes it into the file, we refuse to guess where the new line beside it belongs",
		err:    edit.ErrIndentation,
	},
	"should handle content with line numbers at the last line": {
		reason: "the replacement begins with a line of spaces: the original swallows it with the divider, we keep what is written",
		want:   "                \n",
	},
}

func recordedCases(t *testing.T) []recordedCase {
	t.Helper()
	var cases []recordedCase
	check.OK(t, json.Unmarshal(check.Value(os.ReadFile("testdata/apply_diff_cases.json"))(t), &cases))
	check.Equal(t, len(cases), 39)
	return cases
}

func TestRecordedCases(t *testing.T) {
	used := 0
	for _, c := range recordedCases(t) {
		short := c.Name[strings.LastIndex(c.Name, " > ")+3:]
		t.Run(short, func(t *testing.T) {
			got, err := edit.ApplyDiff(c.Original, c.Diff, edit.Options{Threshold: c.Options.FuzzyThreshold, BufferLines: c.Options.BufferLines})
			if e, ok := exceptions[short]; ok {
				used++
				checkException(t, c, e, got, err)
				return
			}
			checkRecorded(t, c, got, err)
		})
	}
	check.Equal(t, used, len(exceptions), "exceptions that belong to a recorded case")
}

func checkRecorded(t *testing.T, c recordedCase, got edit.Result, err error) {
	t.Helper()
	check.Must(t, (err == nil) == c.Expected.Success, "error %v, recorded success %v", err, c.Expected.Success)
	check.Equal(t, got.Text, c.Expected.Content)
	if len(c.Expected.FailParts) > 0 {
		var match *edit.MatchError
		if !errors.As(err, &match) || len(match.Blocks) != len(c.Expected.FailParts) {
			t.Fatalf("got %v, recorded %d failed parts", err, len(c.Expected.FailParts))
		}
		for i, part := range c.Expected.FailParts {
			checkScore(t, match.Blocks[i], part.Error)
		}
	} else if err != nil && !errors.Is(err, edit.ErrSyntax) {
		t.Errorf("got %v, recorded a malformed diff: %s", err, c.Expected.Error)
	}
}

// checkScore compares the similarity with the one in the recorded message.
func checkScore(t *testing.T, f edit.FailedBlock, recorded string) {
	t.Helper()
	var percent int
	check.Value(fmt.Sscanf(recorded, "No sufficiently similar match found (%d%% similar", &percent))(t)
	check.Equal(t, int(f.Score*100), percent)
}

func checkException(t *testing.T, c recordedCase, e exception, got edit.Result, err error) {
	t.Helper()
	if e.err != nil {
		check.That(t, errors.Is(err, e.err), "got %v, want %v: %s", err, e.err, e.reason)
		return
	}
	want := e.want + c.Expected.Content
	check.That(t, err == nil && got.Text == want, "got %q, %v, want %q: %s", got.Text, err, want, e.reason)
}

// The documentation lists the same exceptions, with the same reasons.
func TestExceptionsAreDocumented(t *testing.T) {
	page := check.Value(os.ReadFile("README.md"))(t)
	for name, e := range exceptions {
		if !strings.Contains(string(page), "| "+name+" |") || !strings.Contains(string(page), "| "+e.reason+" |") {
			t.Errorf("README.md does not list %q with its reason", name)
		}
	}
}
