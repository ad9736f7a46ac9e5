// Package verdict has the small types that every judge of a language shares with pkg/mutation: what is compared, within
// which limits, and what the comparison came to. It decides nothing.
package verdict

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Evidence says how a verdict was reached.
type Evidence string

// The four kinds of evidence.
const (
	// Proven: the two programs are the same up to renaming, layout, comments and order.
	Proven Evidence = "proven"
	// ProvenLocal: so they are, but names changed that other files could use.
	ProvenLocal Evidence = "proven-local"
	// Unproven: they differ, or it could not be shown that they do not.
	Unproven Evidence = "unproven"
	// Unsupported: there is no parser for the language.
	Unsupported Evidence = "unsupported"
)

// Outranks tells whether e decides over other when both belong to one call: the weaker one does, but a difference that was
// found outranks one that could not be looked for.
func (e Evidence) Outranks(other Evidence) bool {
	order := []Evidence{Proven, ProvenLocal, Unsupported, Unproven}
	return slices.Index(order, e) > slices.Index(order, other)
}

// File is one changed file of a call.
type File struct {
	// Path is where the file is now, or was for a deletion; slash-separated, relative to the workspace.
	Path string
	// From is where a moved file came from, else "".
	From string
	// Before and After are the whole contents; nil where there is no file.
	Before, After []byte
}

// Created tells whether there was no file before.
func (f File) Created() bool { return f.Before == nil && f.After != nil }

// Deleted tells whether there is no file any more.
func (f File) Deleted() bool { return f.Before != nil && f.After == nil }

// Moved tells whether the file has another path than before.
func (f File) Moved() bool { return f.From != "" && f.From != f.Path }

// Unpaired is the verdict over a file that does not stand on both sides under one path; there is none over one that
// does. whom says who can know it by its path: "what links to".
func (f File) Unpaired(whom string) (Verdict, bool) {
	switch {
	case f.Created():
		return Unprovenf(f.Path, 0, "the file is new"), true
	case f.Deleted():
		return Unprovenf(f.Path, 0, "the file was deleted"), true
	case f.Moved():
		return Unprovenf(f.Path, 0, "the file moved, and %s %s is not known", whom, f.From), true
	}
	return Verdict{}, false
}

// Limits bound one comparison. A limit that is reached is Unproven.
type Limits struct {
	// Size is the most bytes that one side of one file may have.
	Size int
	// Total is the most bytes that all sides of all files may have together.
	Total int
	// Time is how long a comparison may take.
	Time time.Duration
	// Search is how long may be looked for a name in other files.
	Search time.Duration
	// Depth is how deeply syntax may be nested.
	Depth int
}

// Rename is one name that was changed throughout.
type Rename struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Kind is what the name stands for: "function", "type", "field", "local variable".
	Kind string `json:"kind"`
	// Line is where the name is declared after the change, from 1.
	Line int `json:"line"`
}

// Move is one declaration that stands elsewhere than before, among its siblings.
type Move struct {
	Declaration string `json:"declaration"`
	FromLine    int    `json:"from_line"`
	ToLine      int    `json:"to_line"`
}

// Verdict is what the comparison of a call's files came to.
type Verdict struct {
	Evidence Evidence
	// Reason is one line that a reviewer understands.
	Reason string
	// Renames and Moves are those of a change that is proven or proven-local.
	Renames []Rename
	Moves   []Move
	// Outward are the names, old and new, because of which a verdict is
	// proven-local, where a use in another file would have to spell one of them.
	Outward []string
	// Bound says why a verdict stays proven-local whatever other files have.
	Bound string
	// Inside are names that other files could use only if they include a file.
	Inside []Inside
}

// Inside are the names, old and new, that a file keeps to itself, unless another one includes it by its path.
type Inside struct {
	Path  string
	Names []string
}

// Widen notes a name that came or went and that other files could use. bound
// says why they could do so without spelling it, or is "".
func (v *Verdict) Widen(bound string, names ...string) {
	v.Evidence = ProvenLocal
	v.Bound = cmp.Or(v.Bound, bound)
	for _, name := range names {
		if !slices.Contains(v.Outward, name) {
			v.Outward = append(v.Outward, name)
		}
	}
}

// Enclose notes names that came or went and that others could use only if they include a file.
func (v *Verdict) Enclose(path string, names ...string) {
	i := slices.IndexFunc(v.Inside, func(in Inside) bool { return in.Path == path })
	if i < 0 {
		i = len(v.Inside)
		v.Inside = append(v.Inside, Inside{Path: path})
	}
	v.Inside[i].Names = append(v.Inside[i].Names, names...)
}

// Add joins what the comparison of other files of the same call came to, which is proven or proven-local as well. A
// verdict that is proven-local and does not say because of what stays so.
func (v *Verdict) Add(other Verdict) {
	v.Renames, v.Moves = append(v.Renames, other.Renames...), append(v.Moves, other.Moves...)
	for _, in := range other.Inside {
		v.Enclose(in.Path, in.Names...)
	}
	if other.Evidence != ProvenLocal {
		return
	}
	bound := other.Bound
	if len(other.Outward) == 0 {
		bound = cmp.Or(bound, "other files could use what changed")
	}
	v.Widen(bound, other.Outward...)
}

// Unprovenf is the verdict over a difference. A line of 0 names none.
func Unprovenf(path string, line int, format string, args ...any) Verdict {
	reason := At(path, line) + ": " + fmt.Sprintf(format, args...)
	return Verdict{Evidence: Unproven, Reason: OneLine(reason)}
}

// OneLine is a text without line breaks.
func OneLine(text string) string { return strings.Join(strings.FieldsFunc(text, isBreak), " ") }

// isBreak tells what would make a reason more than a line.
func isBreak(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' }

// At names a place as compilers do.
func At(path string, line int) string {
	if line <= 0 {
		return path
	}
	return fmt.Sprintf("%s:%d", path, line)
}

// Reader gives the content of a small file around those of a call. The error is
// fs.ErrNotExist where nothing stands at the path.
type Reader func(path string) ([]byte, error)

// Judge compares the files of one language together. It returns when ctx ends,
// does not panic on any input, and keeps nothing of its arguments.
type Judge func(ctx context.Context, files []File, limits Limits) Verdict
