package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
)

// The least time between two looks at the lists of a server that says that they have changed. It doubles with each one: a look costs
// us a search through all texts, a write and lines of log, and the server a line.
const (
	shortestLookPause = time.Second
	longestLookPause  = time.Minute
)

// pauseAfter is the pause after a look, given the one after the look before, and how long ago that ended: a server that has been quiet
// begins anew.
func pauseAfter(before, ago time.Duration) time.Duration {
	if before == 0 || ago > longestLookPause {
		return shortestLookPause
	}
	return min(2*before, longestLookPause)
}

// lookEvery is when a server is looked at again that is in use and says nothing of changes. One with an address can be another one
// by then, without any sign.
const lookEvery = 10 * time.Minute

// lookIfLongAgo has a server looked at that is asked for something. It is not waited for: what the agent was told is what was pinned.
func (s *server) lookIfLongAgo(conn *connection) {
	if s.fleet.o.Clock().UnixNano()-conn.looked.Load() > int64(lookEvery) {
		conn.mayHaveChanged()
	}
}

// look lists what the server has, and puts it into its book. A server whose tools cannot be listed is of no use.
func (s *server) look(ctx context.Context, conn *connection) error {
	conn.looked.Store(s.fleet.o.Clock().UnixNano())
	is := conn.client.Identity()
	listing := catalogue.Listing{
		Identity: catalogue.Identity{
			Name: is.Name, Version: is.Version, Title: is.Title, Revision: is.Revision, Instructions: is.Instructions,
		},
		Capabilities: is.Capabilities, Tools: []json.RawMessage{},
	}
	for _, list := range []struct {
		of           *[]json.RawMessage
		capability   string
		method, name string
	}{
		{&listing.Tools, "tools", "tools/list", "tools"},
		{&listing.Prompts, "prompts", "prompts/list", "prompts"},
		{&listing.Resources, "resources", "resources/list", "resources"},
		{&listing.Templates, "resources", "resources/templates/list", "resourceTemplates"},
	} {
		*list.of = []json.RawMessage{}
		if !conn.client.Offers(list.capability) {
			continue
		}
		entries, err := conn.client.List(ctx, list.method, list.name)
		var refused *mcpclient.Error
		switch {
		case err == nil:
			*list.of = entries
		case list.capability == "tools" || !errors.As(err, &refused):
			return fmt.Errorf("%s: %w", list.method, err)
		default: // some have resources and no templates
		}
	}
	report, err := s.book.Observe(s.def, listing)
	if err != nil {
		return err
	}
	conn.listed.Store(&report.Listed)
	s.tell(report)
	return nil
}

// tell says what a look has found.
func (s *server) tell(r catalogue.Report) {
	switch {
	case r.First:
		s.log.Info().Msg("the tools of a server were seen for the first time and are trusted as they are now: orchestra-mcp servers review shows them")
	case len(r.New)+len(r.Changed)+len(r.Gone) > 0:
		s.log.Warn().Int("tools", len(r.New)+len(r.Changed)+len(r.Gone)).Strs("new", few(r.New)).Strs("changed", few(r.Changed)).Strs("gone", few(r.Gone)).
			Msg("the tools of a server are not those that were pinned: orchestra-mcp servers review")
	}
	for _, problem := range r.Problems {
		s.note(problem)
	}
	s.fleet.refresh()
	for _, list := range r.Lists {
		if !(r.First && list == "tools" && s.fleet.awaited.Load()) { // who waits gets it
			s.fleet.o.Changed(list)
		}
	}
}

// lookAgain looks at the lists of a server that says that they have changed, and is not to be asked again for a while.
func (s *server) lookAgain(conn *connection, pause time.Duration) {
	ctx, cancel := context.WithTimeout(s.fleet.ctx, startTime)
	defer cancel()
	conn.enter()
	err := s.look(ctx, conn)
	conn.leave()
	if err != nil {
		s.log.Warn().Str("error", s.text(err)).Msg("the lists of a server could not be read again")
	}
	select {
	case <-time.After(pause):
	case <-conn.client.Done():
	}
}
