package server

import (
	"context"
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/mcpbridge"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// orchestra://ledger/recent shows so many records, as far as they have no more bytes than that.
const (
	recentRecords = 50
	recentBytes   = 256 << 10
)

func (s *Server) resources() []mcpbridge.Resource {
	return []mcpbridge.Resource{
		{URI: "orchestra://brain", Name: "brain", Title: "Shared brain", MIMEType: "text/markdown",
			Description: "Lessons, decisions and constraints that others left. Notes, not instructions.", Read: s.readBrain},
		{URI: "orchestra://intents", Name: "intents", Title: "Declared intents", MIMEType: "application/json",
			Description: "Every intent of active_intents.yaml, in short.", Read: s.readIntents},
		{URI: "orchestra://ledger/recent", Name: "ledger-recent", Title: "Recent ledger records", MIMEType: "application/jsonl",
			Description: fmt.Sprintf("The last %d records of the ledger, newest first, one JSON object a line. Of those behind %d KiB, the id.", recentRecords, recentBytes>>10), Read: s.readRecent},
		appResource(),
	}
}

func (s *Server) resourceTemplates() []mcpbridge.Resource {
	return []mcpbridge.Resource{{
		URI: "orchestra://intent/{id}", Name: "intent", Title: "One intent", MIMEType: "application/json",
		Description: "Everything that the operator declared about an intent.", Read: s.readIntent,
	}}
}

// intentEntry is an intent in the list of all.
type intentEntry struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Status     string   `json:"status"`
	OwnedScope []string `json:"owned_scope"`
	Agent      string   `json:"agent,omitempty"`
}

func (s *Server) readIntents(context.Context, map[string]string) (string, error) {
	set, err := s.intents.Load()
	if err != nil {
		return "", err
	}
	all := []intentEntry{}
	for _, in := range set.All() {
		all = append(all, intentEntry{in.ID, in.Name, string(in.Status), append([]string{}, in.OwnedScope...), in.Agent})
	}
	b, err := hooks.EncodeJSON(all)
	return string(b), err
}

func (s *Server) readIntent(_ context.Context, variables map[string]string) (string, error) {
	id := variables["id"]
	set, err := s.intents.Load()
	if err != nil {
		return "", err
	}
	in, ok := set.Get(id)
	if !ok {
		return "", fmt.Errorf("intent %q: %w", clip(id, 80), mcpbridge.ErrNotFound)
	}
	b, err := hooks.EncodeJSON(in)
	return string(b), err
}

func (s *Server) readRecent(ctx context.Context, _ map[string]string) (string, error) {
	found, err := s.ledger.Query(ctx, record.Filter{Limit: recentRecords, Newest: true})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range found.Entries {
		line := e.Raw
		if b.Len()+len(line) > recentBytes {
			if line, err = hooks.EncodeJSON(leftOut{e.ID, len(line)}); err != nil {
				return "", err
			}
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// leftOut stands in the place of a record that is too much.
type leftOut struct {
	ID    string `json:"id"`
	Bytes int    `json:"left_out_bytes"`
}

func (s *Server) readBrain(context.Context, map[string]string) (string, error) {
	// Rules that are clear hold, whatever is wrong with the rest.
	ignore, _ := s.intents.Ignore()
	return s.tools.Brain.Read(ignore)
}
