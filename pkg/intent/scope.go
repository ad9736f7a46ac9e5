package intent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/pathglob"
)

// Scope is a compiled list of scope globs. It is immutable and safe for concurrent use.
type Scope struct {
	globs    []string
	patterns []*pathglob.Pattern
}

// CompileScope compiles scope globs.
//
// A glob is relative to the workspace, anchored, case-sensitive and separated by `/`. `*` and `?` stay within one segment,
// `**` as a segment is zero or more segments (`src/**` matches src and all below it, `**/*.ts` matches a.ts; inside a longer
// segment it is `*`), `{a,b}` stands for the glob written once with each alternative, `[abc]`, `[a-z]`, `[!abc]` and `[^abc]`
// are classes within a segment, `\` takes the next character literally. A leading `./` is dropped. A glob without wildcards,
// or with a trailing `/`, covers what it names and its whole subtree; of a glob with braces this holds for each alternative.
//
// A glob that is empty, absolute, leaves the workspace, does not parse, begins with `!` or has spaces at its ends (both
// must be escaped: a scope knows no negation), or is larger than the bounds of package pathglob, is a *GlobError. No globs
// at all are a scope without restriction.
func CompileScope(globs []string) (*Scope, error) {
	s := &Scope{globs: slices.Clone(globs)}
	for i, text := range globs {
		patterns, err := compileGlob(text)
		if err != nil {
			return nil, &GlobError{Index: i, Err: err}
		}
		s.patterns = append(s.patterns, patterns...)
	}
	return s, nil
}

// GlobError is a glob that does not compile.
type GlobError struct {
	Index int // in the list, from 0
	Err   error
}

func (e *GlobError) Error() string { return e.Err.Error() }

func (e *GlobError) Unwrap() error { return e.Err }

func compileGlob(text string) ([]*pathglob.Pattern, error) {
	switch {
	case strings.HasPrefix(text, "!"):
		return nil, fmt.Errorf(`pattern %q: a scope has no negation; write "\!" if the name begins with it, or put the `+
			`exception into .intentignore`, text)
	case text != strings.TrimSpace(text) && !strings.HasSuffix(text, `\ `):
		return nil, fmt.Errorf("pattern %q has spaces at its ends: remove them, or escape them with a backslash", text)
	}
	return pathglob.CompileAll(text)
}

// Match reports whether the path is in the scope. The path must be clean and relative to the workspace, "." being the
// workspace itself; any other path is out of every scope that restricts.
func (s *Scope) Match(path string) bool {
	if s.Unrestricted() {
		return true
	}
	return slices.ContainsFunc(s.patterns, func(p *pathglob.Pattern) bool { return p.Match(path) })
}

// Unrestricted reports whether the scope has no globs, so that every path is in it.
func (s *Scope) Unrestricted() bool { return len(s.globs) == 0 }

// Globs returns the globs as written.
func (s *Scope) Globs() []string { return slices.Clone(s.globs) }
