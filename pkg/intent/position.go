package intent

import (
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/pathglob"
)

// Position is a directory as a scope sees it: what of its globs can still match there and below. It is immutable.
type Position struct {
	scope  *Scope
	states []pathglob.State
}

// Top is the workspace itself.
func (s *Scope) Top() Position {
	p := Position{scope: s}
	for _, pattern := range s.patterns {
		p.states = append(p.states, pattern.Start())
	}
	return p
}

// Below is the directory of this name in the one of the position.
func (p Position) Below(name string) Position {
	next := Position{p.scope, make([]pathglob.State, len(p.states))}
	for i, state := range p.states {
		if state != 0 {
			next.states[i] = p.scope.patterns[i].Step(state, name)
		}
	}
	return next
}

// At is the position of a path.
func (s *Scope) At(path string) Position {
	p := s.Top()
	if path != "." {
		for name := range strings.SplitSeq(path, "/") {
			p = p.Below(name)
		}
	}
	return p
}

// Covers reports whether everything that is or could be below is in the scope.
func (p Position) Covers() bool {
	return p.any(func(pattern *pathglob.Pattern, state pathglob.State) bool { return pattern.Covers(state) })
}

// Has reports whether the file of this name in the directory is in the scope.
func (p Position) Has(name string) bool {
	return p.any(func(pattern *pathglob.Pattern, state pathglob.State) bool {
		return pattern.Accepts(pattern.Step(state, name))
	})
}

func (p Position) any(is func(*pathglob.Pattern, pathglob.State) bool) bool {
	for i, state := range p.states {
		if state != 0 && is(p.scope.patterns[i], state) {
			return true
		}
	}
	return p.scope.Unrestricted()
}
