package languages

import (
	"context"
	"errors"
	"fmt"
	"sync"

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

// Judge returns the judge of a language, for files without others around them;
// nil if there is none.
func Judge(name string) verdict.Judge {
	return Together(func(verdict.File) string { return name }, name, verdict.Around{})
}

// Together returns the judge of a language and of those that can import from
// it, told by of; nil if there is none. around has the files around those of the
// call.
func Together(of func(verdict.File) string, name string, around verdict.Around) verdict.Judge {
	if tables()[treesitter.Language(name)] == nil {
		return nil
	}
	return func(ctx context.Context, files []verdict.File, limits verdict.Limits) verdict.Verdict {
		j := &joint{read: around.Read, list: around.List, exists: map[string]bool{}}
		table := func(f verdict.File) *language { return tables()[treesitter.Language(of(f))] }
		v := j.judge(ctx, files, table, limits)
		if v.Evidence == verdict.Unproven && ctx.Err() == nil {
			if renamed, ok := j.renamedTops(ctx, files, table, limits); ok {
				return renamed
			}
		}
		return v
	}
}

// Family is one name for the languages that can import from each other.
func Family(name string) string {
	if l := tables()[treesitter.Language(name)]; l != nil && isScript(l) {
		return string(treesitter.TypeScript)
	}
	return name
}

// parsed is one program as the parser has it.
type parsed struct {
	tree *treesitter.Tree
	err  error
}

// parse parses the two texts of a file side by side.
func (l *language) parse(ctx context.Context, f verdict.File) (before, after parsed) {
	var both sync.WaitGroup
	both.Go(func() { after.tree, after.err = parsers.Parse(ctx, l.grammar, f.After) })
	before.tree, before.err = parsers.Parse(ctx, l.grammar, f.Before)
	both.Wait()
	return before, after
}

// side reads one program; nil and a verdict if it cannot be compared.
func (l *language) side(path, when string, p parsed, limits verdict.Limits) (*side, verdict.Verdict) {
	t, err := p.tree, p.err
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

func compare(ctx context.Context, path string, before, after *side) verdict.Verdict {
	pairing := tree.NewPairing()
	beforeTree, afterTree := before.build(), after.build()
	d := pairing.Compare(beforeTree, afterTree)
	if d == nil {
		return renames(path, before, after, pairing)
	}
	arranged := &arrangement{ctx: ctx, before: before, after: after}
	arranged.align(beforeTree, afterTree)
	pairing = tree.NewPairing()
	if len(arranged.moves) == 0 || pairing.Compare(beforeTree, afterTree) != nil {
		if v, same := inlined(ctx, path, before, after, beforeTree, afterTree); same {
			return v
		}
		return differs(path, d)
	}
	if b := arranged.broken; b != nil {
		return verdict.Unprovenf(path, b.line, "%v", b)
	}
	v := renames(path, before, after, pairing)
	if v.Evidence != verdict.Unproven {
		v.Moves = arranged.moves
	}
	return v
}

func differs(path string, d *tree.Difference) verdict.Verdict {
	line := 0
	if d.After != nil {
		line = d.After.Line
	} else if d.Before != nil {
		line = d.Before.Line
	}
	return verdict.Unprovenf(path, line, "%s", d.Why)
}
