// Package syntax compares two versions of files up to layout, comments, the
// order of what has no effect, and the names that the files themselves declare.
//
// What it promises rests on three facts. The meaning of a program is told by its tokens, and by the line breaks,
// indentation and spaces that its language counts: both sides must have the same of them (side.go, tables). Parts
// change places only if a table says that their order does nothing (order.go). And a name that changed everywhere in a
// region in which it is declared, and in which the new one was not, is the same name (rename.go). What a table does not
// know is compared as it is written. Whatever is not told by these is unproven.
package syntax

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// parsers are shared by all comparisons of the process.
var parsers treesitter.Parsers

// Prepare loads the parser of a language, which takes longer than most texts do.
func Prepare(ctx context.Context, language string) {
	if t := tables()[language]; t != nil && t.grammar != "go" {
		_ = parsers.Prepare(ctx, t.grammar) // who parses is told
	}
}

// Expect prepares for a change of a text, and notes where its parts are.
func Expect(ctx context.Context, language string, text []byte) {
	Prepare(ctx, language)
	if t := tables()[language]; t != nil && kept.get(text) == nil {
		_, _ = t.outlined(ctx, text) // who judges is told
	}
}

// outlined parses a text, and keeps where its parts are.
func (t *table) outlined(ctx context.Context, text []byte) (*treesitter.Tree, error) {
	tree, err := t.parse(ctx, text)
	if err != nil {
		return nil, err
	}
	if parts := outline(tree); parts != nil {
		kept.put(text, parts)
	}
	return tree, nil
}

// compiledRules are the rules of the languages that were used.
var compiledRules sync.Map // by the name of the table

func rulesOf(t *table, g *treesitter.Grammar) *rules {
	if r, ok := compiledRules.Load(t.name); ok {
		return r.(*rules)
	}
	r, _ := newRules(t, g) // a test asks for what is unknown
	compiledRules.Store(t.name, r)
	return r
}

// call is what is compared together, and the files around it.
type call struct {
	files  []verdict.File
	limits verdict.Limits
	read   verdict.Reader
}

// Judge compares the files of one family together. read gives the headers of C;
// it is nil where nothing is known of other files.
func Judge(read verdict.Reader) verdict.Judge {
	return func(ctx context.Context, files []verdict.File, limits verdict.Limits) verdict.Verdict {
		c := &call{files: files, limits: limits, read: read}
		return c.judge(ctx)
	}
}

func (c *call) judge(ctx context.Context) verdict.Verdict {
	v := verdict.Verdict{Evidence: verdict.Proven}
	var together []*comparison
	for _, f := range c.files {
		if unpaired, is := f.Unpaired("what refers to"); is {
			return unpaired
		}
		one, err := c.file(ctx, f)
		if err != nil {
			return unproven(f.Path, err)
		}
		v.Moves = append(v.Moves, one.moves...)
		together = append(together, one)
	}
	if path, err := renames(together, &v); err != nil {
		return unproven(path, err)
	}
	return v
}

func unproven(path string, err error) verdict.Verdict {
	var at *fault
	if errors.As(err, &at) {
		return verdict.Unprovenf(path, at.line, "%s", at.why)
	}
	return verdict.Unprovenf(path, 0, "%v", err)
}

// file compares one file in its language, or in the one that it can be as well: a header of C or C++.
func (c *call) file(ctx context.Context, f verdict.File) (*comparison, error) {
	t := tables()[Of(f.Path)]
	if t == nil {
		return nil, errors.New("there is no table for its language")
	}
	one, err := c.inLanguage(ctx, t, f)
	if other := tables()[t.or[path.Ext(f.Path)]]; other != nil && (err != nil || c.has(other)) {
		if o, failed := c.inLanguage(ctx, other, f); failed == nil {
			return o, nil
		}
	}
	return one, err
}

// has tells whether a file of the call is in a language.
func (c *call) has(t *table) bool {
	return slices.ContainsFunc(c.files, func(f verdict.File) bool { return Of(f.Path) == t.name })
}

func (c *call) inLanguage(ctx context.Context, t *table, f verdict.File) (*comparison, error) {
	for _, text := range [][]byte{f.After, f.Before} {
		if err := t.readable(text); err != nil {
			return nil, err
		}
	}
	one, err := c.compare(ctx, t, f, nil)
	if err == nil && len(one.changes) > 0 && t.macroCalls != nil {
		one, err = c.compare(ctx, t, f, c.headersOf(f))
	}
	if err == nil && one.why != "" {
		err = &fault{one.line, one.why}
	}
	return one, err
}

// compare judges an edit by the parts around it, or else both sides as a whole.
func (c *call) compare(ctx context.Context, t *table, f verdict.File, h *headers) (*comparison, error) {
	if one, ok := c.near(ctx, t, f, h); ok {
		return one, nil
	}
	before, after, err := c.sides(ctx, t, f, h)
	if err != nil {
		return nil, err
	}
	return compare(ctx, before, after), nil
}

// faulty begins the reason where a text could not be read for a fault of ours.
const faulty = "the analyser failed"

// sides parses both versions at once.
func (c *call) sides(ctx context.Context, t *table, f verdict.File, h *headers) (before, after *side, err error) {
	var both sync.WaitGroup
	var failed error
	both.Go(func() { before, failed = c.side(ctx, t, f.Path, f.Before, h) })
	after, err = c.side(ctx, t, f.Path, f.After, h)
	both.Wait()
	return before, after, errors.Join(err, failed)
}

func (t *table) parse(ctx context.Context, text []byte) (*treesitter.Tree, error) {
	if t.grammar == "go" {
		return goTree(text)
	}
	return parsers.Parse(ctx, t.grammar, text)
}

// side reads one version. A fault of this program is a fault of one call: the text is somebody else's.
func (c *call) side(ctx context.Context, t *table, path string, text []byte, h *headers) (s *side, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			s, err = nil, fmt.Errorf("%s: %v", faulty, fault)
		}
	}()
	tree, err := t.outlined(ctx, text)
	if err != nil {
		return nil, err
	}
	return newSide(rulesOf(t, tree.Grammar), source{path: path, tree: tree, headers: h, call: c}, c.limits.Depth)
}

// readable refuses texts that others could take apart at other places than the parser does: with line ends that only
// some languages know, and characters that nobody sees.
func (t *table) readable(text []byte) error {
	line := 1
	for i := 0; i < len(text); {
		if c := text[i]; c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == '\n':
			line++
		case r == '\r' && i+1 < len(text) && text[i+1] == '\n', r == '\t':
		case r < ' ', r == 0x7f, r >= 0x80 && r < 0xa0, r == 0x2028, r == 0x2029, r == 0x200b, r == 0x200e, r == 0x200f,
			r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0xfeff && i > 0:
			return &fault{line, fmt.Sprintf("it has the character U+%04X, which ends lines for some readers or is not seen", r)}
		}
		i += size
	}
	if t.never != nil {
		if at := t.never.FindIndex(text); at != nil {
			return &fault{1 + bytes.Count(text[:at[0]], []byte("\n")), "the text could be read in several ways"}
		}
	}
	return nil
}
