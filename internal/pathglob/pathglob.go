// Package pathglob compiles one glob over slash-separated relative paths and matches it in bounded time.
//
// It promises: a pattern is anchored at the root and case-sensitive; `*`, `?` and `[…]` stay within one segment, `**` as a
// whole segment is zero or more segments (inside a longer segment a run of stars is one `*`), `\` takes the next character
// literally, `[!x]` and `[^x]` negate. A match costs at most one comparison per pattern segment and path segment, and each
// comparison goes through the name once for each star at most, so no path, however hostile, makes it exponential. What does
// not parse, or would leave the root, is an error and never a pattern that matches nothing.
//
// It does not promise to know about files: paths are compared as text. Braces are expanded by [Expand]; elsewhere
// they are literal. Known libraries either go back without a bound (`*a*a*a*a*b` takes seconds on 50 characters) or read
// classes and `**` otherwise.
package pathglob

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"
)

// Limits of one pattern. They bound the cost of a match together with the length of the path.
const (
	maxBytes    = 4096 // of one pattern, and of all its brace alternatives together
	maxSegments = 62   // so that a set of positions fits into one word, with room for the subtree's segment
)

// Pattern is one compiled pattern. It is immutable and safe for concurrent use.
type Pattern struct {
	segments      []segment
	literal       bool
	trailingSlash bool
}

// Compile compiles a pattern without braces.
func Compile(pattern string) (*Pattern, error) {
	if err := checkText(pattern); err != nil {
		return nil, err
	}
	if strings.HasPrefix(pattern, "/") {
		return nil, fmt.Errorf("pattern %q is absolute: write it relative to the workspace", pattern)
	}
	raw, err := splitSegments(pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	p := &Pattern{literal: true, trailingSlash: len(raw) > 1 && raw[len(raw)-1] == ""}
	for _, text := range raw {
		if err := p.add(text); err != nil {
			return nil, fmt.Errorf("pattern %q: %w", pattern, err)
		}
	}
	if len(p.segments) > maxSegments {
		return nil, fmt.Errorf("pattern has %d segments: at most %d are allowed", len(p.segments), maxSegments)
	}
	return p, nil
}

// CompileAll compiles a glob with braces to the patterns of which one has to match. An alternative without wildcards, or
// with a slash at its end, covers what it names and its whole subtree.
func CompileAll(glob string) ([]*Pattern, error) {
	alternatives, err := Expand(glob)
	if err != nil {
		return nil, err
	}
	patterns := make([]*Pattern, 0, len(alternatives))
	for _, alternative := range alternatives {
		if alternative == "" {
			return nil, errors.New("pattern " + glob + " has an empty alternative")
		}
		p, err := Compile(alternative)
		if err != nil {
			return nil, err
		}
		if p.Literal() || p.TrailingSlash() {
			p = p.Subtree()
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

// add appends one raw segment; empty ones and `.` name nothing and are dropped, like path.Clean does.
func (p *Pattern) add(text string) error {
	if text == "" || text == "." {
		return nil
	}
	seg, err := compileSegment(text)
	if err != nil {
		return err
	}
	if seg.kind == literalSegment && seg.text == ".." {
		return fmt.Errorf("%q leaves the workspace", "..")
	}
	if seg.kind != literalSegment {
		p.literal = false
	}
	if last := len(p.segments) - 1; seg.kind == treeSegment && last >= 0 && p.segments[last].kind == treeSegment {
		return nil
	}
	p.segments = append(p.segments, seg)
	return nil
}

// Escape makes the pattern that matches one path, whatever characters it has.
func Escape(path string) string { return escaper.Replace(path) }

var escaper = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`, ",", `\,`, "!", `\!`)

// Literal reports whether the pattern has no wildcard, so that it names exactly one path.
func (p *Pattern) Literal() bool { return p.literal }

// TrailingSlash reports whether the pattern was written with a slash at its end.
func (p *Pattern) TrailingSlash() bool { return p.trailingSlash }

// Subtree returns the pattern that matches what p matches and everything below it.
func (p *Pattern) Subtree() *Pattern {
	sub := *p
	if last := len(p.segments) - 1; last < 0 || p.segments[last].kind != treeSegment {
		sub.segments = append(p.segments[:len(p.segments):len(p.segments)], segment{kind: treeSegment})
	}
	return &sub
}

// Match reports whether the pattern matches the path, which must be clean in the sense of fs.ValidPath ("." is the
// root); any other path matches nothing.
func (p *Pattern) Match(path string) bool {
	if !fs.ValidPath(path) {
		return false
	}
	state := p.Start()
	if path == "." {
		return p.Accepts(state)
	}
	for name := range strings.SplitSeq(path, "/") {
		if state = p.Step(state, name); state == 0 {
			return false
		}
	}
	return p.Accepts(state)
}

// State is a set of positions in a pattern: what is still possible after some segments of a path. Zero is dead.
type State uint64

// Start returns the state before the first segment.
func (p *Pattern) Start() State { return p.close(1) }

// Accepts reports whether the segments read so far are a match.
func (p *Pattern) Accepts(s State) bool { return s&(1<<len(p.segments)) != 0 }

// Step returns the state after one more segment of the path.
func (p *Pattern) Step(s State, name string) State {
	if s == 0 {
		return 0
	}
	var next State
	for i := range p.segments {
		switch seg := &p.segments[i]; {
		case s&(1<<i) == 0:
		case seg.kind == treeSegment:
			next |= 1 << i
		case seg.match(name):
			next |= 1 << (i + 1)
		}
	}
	return p.close(next)
}

// close adds the positions that are reached without a segment: past each `**`.
func (p *Pattern) close(s State) State {
	for i := range p.segments {
		if p.segments[i].kind == treeSegment && s&(1<<i) != 0 {
			s |= 1 << (i + 1)
		}
	}
	return s
}

// checkText refuses what cannot be a pattern in any reading.
func checkText(pattern string) error {
	switch {
	case pattern == "":
		return fmt.Errorf("pattern is empty: write %q for the whole workspace", "**")
	case len(pattern) > maxBytes:
		return fmt.Errorf("pattern has %d bytes: at most %d are allowed", len(pattern), maxBytes)
	case !utf8.ValidString(pattern):
		return fmt.Errorf("pattern %q is not valid UTF-8", pattern)
	}
	for _, r := range pattern {
		if r < 0x20 || r == 0x7f {
			return fmt.Errorf("pattern %q contains a control character", pattern)
		}
	}
	return nil
}

// Covers reports whether everything below is a match, whatever its segments are.
func (p *Pattern) Covers(s State) bool {
	last := len(p.segments) - 1
	return last >= 0 && p.segments[last].kind == treeSegment && s&(1<<last) != 0
}

// Next returns what a next segment on the way to a match can be: one of the names, or with open any that fits a wildcard.
func (p *Pattern) Next(s State) (names []string, open bool) {
	for i, seg := range p.segments {
		switch {
		case s&(1<<i) == 0:
		case seg.kind == literalSegment:
			names = append(names, seg.text)
		default:
			open = true
		}
	}
	return names, open
}
