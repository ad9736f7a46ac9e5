package server

import (
	"fmt"
	"slices"
	"sync"

	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// untrustedShown bounds how many lines the first refusal lists.
const untrustedShown = 20

// firstRefusal adds to the first refusal of this server what the workspace's own files say and what has no effect before the
// operator has trusted it (SPEC 15): who counts on it would not understand the refusal otherwise.
func (s *Server) firstRefusal() func(*refusal.Refusal) *refusal.Refusal {
	var once sync.Once
	return func(r *refusal.Refusal) *refusal.Refusal {
		once.Do(func() {
			waiting := s.untrusted()
			if len(waiting) == 0 {
				return
			}
			s.log.Warn().Strs("untrusted", waiting).Msg("what files of the workspace weaken has no effect until orchestra-mcp trust")
			shown := waiting[:min(len(waiting), untrustedShown)]
			r = r.With("untrusted_settings", shown).Suggest("%s (Files of this workspace weaken defaults or start programs, %d entries in details.untrusted_settings; "+
				"none has effect until the operator has looked at it with: orchestra-mcp trust)", r.Suggestion(), len(waiting))
		})
		return r
	}
}

// untrusted lists what waits for trust.
func (s *Server) untrusted() []string {
	lines := slices.Clone(s.options.Withheld)
	for _, w := range s.intents.Weakenings() {
		if w.Trusted {
			continue
		}
		for _, e := range w.Entries {
			lines = append(lines, fmt.Sprintf("%s:%d: %s", w.File, e.Line, e.Text))
		}
	}
	return lines
}
