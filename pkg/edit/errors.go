package edit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Failures of one edit. A returned error carries the details in a [*SyntaxError], [*MatchError] or [*ReplaceError];
// these say, through errors.Is, which of the kinds below occurred. A MatchError over several blocks can be of several
// kinds at once.
var (
	// ErrSyntax: the diff or patch itself is malformed.
	ErrSyntax = errors.New("malformed diff")
	// ErrNoMatch: the text to be replaced is not in the file, or not often enough.
	ErrNoMatch = errors.New("text not found")
	// ErrAmbiguous: the text to be replaced fits more than one place.
	ErrAmbiguous = errors.New("text fits more than one place")
	// ErrIndentation: the text was found with other indentation, and where its new lines belong is not certain.
	ErrIndentation = errors.New("indentation does not carry over")
	// ErrOverlap: two blocks change the same lines.
	ErrOverlap = errors.New("blocks overlap")
	// ErrNoChange: search and replacement are the same text.
	ErrNoChange = errors.New("search and replacement are identical")
	// ErrEmptySearch: there is nothing to search for.
	ErrEmptySearch = errors.New("nothing to search for")
)

// SyntaxError says what is wrong with the text of a diff or patch.
type SyntaxError struct {
	Line   int    // 1-based line of the diff or patch; 0 if it concerns the whole
	Reason string // what is wrong and what to write instead
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return "malformed diff: " + e.Reason
	}
	return fmt.Sprintf("malformed diff, line %d: %s", e.Line, e.Reason)
}

// Is reports whether target is ErrSyntax.
func (e *SyntaxError) Is(target error) bool { return target == ErrSyntax }

// MatchError lists every block or hunk that could not be placed. Nothing was applied.
type MatchError struct {
	Path   string        `json:"path,omitempty"` // set by Section.Apply
	Total  int           `json:"total"`          // how many blocks the diff has
	Blocks []FailedBlock `json:"blocks"`         // in the order of the diff
}

// FailedBlock is one block that could not be placed, with what helps to write a better one. Line numbers are 1-based
// lines of the original text; 0 means that there is none.
type FailedBlock struct {
	Index        int     `json:"index"`                  // 1-based position in the diff
	DiffLine     int     `json:"diff_line"`              // where the block begins in the diff
	Err          error   `json:"-"`                      // one of the package's sentinels
	Reason       string  `json:"reason"`                 // a sentence for people and agents
	StartLine    int     `json:"start_line,omitempty"`   // the line that the block asked for
	BestStart    int     `json:"best_start,omitempty"`   // the most similar place, or the first candidate
	BestEnd      int     `json:"best_end,omitempty"`     //
	Score        float64 `json:"score"`                  // its similarity, 0 to 1
	Surroundings string  `json:"surroundings,omitempty"` // numbered lines around it
	Difference   string  `json:"difference,omitempty"`   // a sentence: where the most similar place first differs
	Candidates   []int   `json:"candidates,omitempty"`   // first lines of the places that fit equally well
	Search       string  `json:"search,omitempty"`       // what was searched for, shortened
}

// maxErrorText bounds what a MatchError shows, in bytes: it goes to an agent's context.
const maxErrorText = 10_000

// Shown gives the first failed blocks, at least one and no more than are of use to an agent at once.
func (e *MatchError) Shown() []FailedBlock {
	size := 0
	for i, f := range e.Blocks {
		if size += len(f.String()); size > maxErrorText && i > 0 {
			return e.Blocks[:i]
		}
	}
	return e.Blocks
}

// Error says first how many blocks failed and that nothing was changed, then shows the first ones in full.
func (e *MatchError) Error() string {
	var b strings.Builder
	if e.Path != "" {
		fmt.Fprintf(&b, "%s: ", e.Path)
	}
	shown := e.Shown()
	fmt.Fprintf(&b, "%d of %d blocks could not be applied; nothing was changed.", len(e.Blocks), e.Total)
	if rest := e.Blocks[len(shown):]; len(rest) > 0 {
		fmt.Fprintf(&b, " The first of them are shown (%d); the others that failed begin with block %d and end with block %d.",
			len(shown), rest[0].Index, rest[len(rest)-1].Index)
	}
	for _, f := range shown {
		b.WriteString("\n\n")
		b.WriteString(f.String())
	}
	return b.String()
}

// String gives the failure in full: reason, best match, surroundings.
func (f FailedBlock) String() string {
	return fmt.Sprintf("Block %d (diff line %d): %s%s", f.Index, f.DiffLine, f.Reason, f.evidence())
}

// evidence is what the file has, each part on lines of its own.
func (f FailedBlock) evidence() string {
	var b strings.Builder
	if f.BestStart > 0 && f.Err == ErrNoMatch {
		fmt.Fprintf(&b, "\nBest match: lines %d-%d, %d%% similar.", f.BestStart, f.BestEnd, int(f.Score*100))
	}
	if f.Difference != "" {
		b.WriteString("\n" + f.Difference)
	}
	if f.Search != "" {
		b.WriteString("\nSearched for:\n" + f.Search)
	}
	if f.Surroundings != "" {
		b.WriteString("\nThe file has (before each bar, the line's number):\n" + f.Surroundings)
	}
	return strings.TrimRight(b.String(), "\n")
}

// Is reports whether any failed block is of the kind target.
func (e *MatchError) Is(target error) bool {
	return slices.ContainsFunc(e.Blocks, func(f FailedBlock) bool { return f.Err == target })
}

// ReplaceError says why [Replace] found the text too often or too rarely. Its block has no place in a diff; the
// candidates are the lines where occurrences begin, the first 50.
type ReplaceError struct {
	FailedBlock
	Found int // occurrences in the text
}

// Error says first that nothing was changed, then what the file has.
func (e *ReplaceError) Error() string { return e.Reason + " Nothing was changed." + e.evidence() }

// Unwrap returns the sentinel.
func (e *ReplaceError) Unwrap() error { return e.Err }
