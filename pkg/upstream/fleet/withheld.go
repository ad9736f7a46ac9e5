package fleet

import (
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
)

// Withheld says why a tool is not offered that somebody knows by its name: it waits for the operator, is gone, or its server has not
// been reached yet. It is for the agent that calls it, and safe to print; "" for a name that nobody knows. It starts nothing.
func (f *Fleet) Withheld(name string) string {
	for _, p := range f.Parts() {
		server := p.Definition.Name
		for _, e := range p.Entries {
			switch {
			case e.Name != name:
			case e.State.Quarantined():
				return fmt.Sprintf("The tool %q of the server %s waits for the operator, who has not trusted what it says now (%s): orchestra-mcp servers review %s", name, server, e.State, server)
			case e.State == catalogue.Gone:
				return fmt.Sprintf("The server %s does not offer the tool %q any more.", server, name)
			}
		}
	}
	for _, s := range f.servers {
		if known, err := s.book.Known(); s.def.Prefix != "" && strings.HasPrefix(name, s.def.Prefix) && !known && err == nil {
			if why := s.state().Why; why != "" {
				return fmt.Sprintf("Nothing is known of the tools of the server %s yet (%s): orchestra-mcp servers list", s.def.Name, why)
			}
		}
	}
	return ""
}
