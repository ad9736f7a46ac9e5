package languages

import (
	"context"
	"errors"
	"fmt"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// Names are the languages that Judge compares.
func Names() []string {
	names := make([]string, 0, len(treesitter.Languages()))
	for _, language := range treesitter.Languages() {
		if tables()[language] != nil {
			names = append(names, string(language))
		}
	}
	return names
}

// parsers are shared by all comparisons of the process.
var parsers treesitter.Parsers

// Prepare loads what the judge of a language needs, which is not to be counted
// as time of a comparison. What goes wrong is reported by the judge.
func Prepare(ctx context.Context, name string) {
	if l := tables()[treesitter.Language(name)]; l != nil {
		_ = parsers.Prepare(ctx, l.grammar)
	}
}

// Judge returns the judge of a language; nil if there is none.
func Judge(name string) verdict.Judge {
	l := tables()[treesitter.Language(name)]
	if l == nil {
		return nil
	}
	return func(ctx context.Context, files []verdict.File, limits verdict.Limits) verdict.Verdict {
		total := verdict.Verdict{Evidence: verdict.Proven}
		for _, f := range files {
			v := l.judge(ctx, f, limits)
			if v.Evidence != verdict.Proven && v.Evidence != verdict.ProvenLocal {
				return v
			}
			total.Renames = append(total.Renames, v.Renames...)
			total.Moves = append(total.Moves, v.Moves...)
			if v.Evidence.Outranks(total.Evidence) {
				total.Evidence = v.Evidence
			}
		}
		total.Reason = verdict.Summary(total)
		return total
	}
}

// judge compares the two sides of one file.
func (l *language) judge(ctx context.Context, f verdict.File, limits verdict.Limits) verdict.Verdict {
	switch {
	case f.Created():
		return verdict.Unprovenf(f.Path, 0, "the file is new")
	case f.Deleted():
		return verdict.Unprovenf(f.Path, 0, "the file was deleted")
	case f.Moved():
		return verdict.Unprovenf(f.Path, 0, "the file was moved, and others may look for it")
	}
	before, v := l.side(ctx, f.Path, "before the change", f.Before, limits)
	if before == nil {
		return v
	}
	after, v := l.side(ctx, f.Path, "after the change", f.After, limits)
	if after == nil {
		return v
	}
	return compare(f.Path, before, after)
}

// side reads one program; nil and a verdict if it cannot be compared.
func (l *language) side(ctx context.Context, path, when string, text []byte, limits verdict.Limits) (*side, verdict.Verdict) {
	t, err := parsers.Parse(ctx, l.grammar, text)
	switch {
	case errors.Is(err, treesitter.ErrLanguage):
		return nil, verdict.Verdict{Evidence: verdict.Unsupported, Reason: fmt.Sprintf("there is no parser for %s", path)}
	case err != nil:
		return nil, verdict.Unprovenf(path, 0, "%s: %v", when, err)
	}
	s := newSide(l, t)
	if at, faulty := t.Fault(); faulty {
		return nil, verdict.Unprovenf(path, s.lineAt(uint32(at)), "%s the parser does not understand this line", when)
	}
	if depth := s.depth(); limits.Depth > 0 && depth > limits.Depth {
		return nil, verdict.Unprovenf(path, 0, "%s it is nested %d deep, the limit is %d", when, depth, limits.Depth)
	}
	s.declareAll()
	return s, verdict.Verdict{}
}

func compare(path string, before, after *side) verdict.Verdict {
	pairing := tree.NewPairing()
	beforeTree, afterTree := before.build(), after.build()
	if d := pairing.Compare(beforeTree, afterTree); d != nil {
		line := 0
		if d.After != nil {
			line = d.After.Line
		} else if d.Before != nil {
			line = d.Before.Line
		}
		return verdict.Unprovenf(path, line, "%s", d.Why)
	}
	return renames(path, before, after, pairing)
}
