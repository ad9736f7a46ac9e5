package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/trace"
	"github.com/intentgov/orchestra-mcp/pkg/intent/intentmap"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// writeMap hands what calls changed to intent_map.md.
func (s *Server) writeMap(changes []trace.MapChange) error {
	var added []intentmap.Entry
	for _, c := range changes {
		if len(c.Paths) == 0 {
			continue
		}
		entry := intentmap.Entry{IntentID: c.IntentID, Name: c.Name, Status: c.Status}
		for _, path := range c.Paths {
			entry.Files = append(entry.Files, intentmap.File{Path: path, Changed: c.At})
		}
		added = append(added, entry)
	}
	return intentmap.Record(context.Background(), s.workspace.Root(), added, s.knownIntents())
}

// knownIntents is what the intents file says of an intent now; nil where it cannot be read, and the map keeps what it has.
func (s *Server) knownIntents() intentmap.Known {
	set, err := s.intents.Load()
	if err != nil {
		return nil
	}
	return func(id string) (name, status string, ok bool) {
		in, ok := set.Get(id)
		if !ok {
			return "", "", false
		}
		return in.Name, string(in.Status), true
	}
}

// WriteIntentMap makes intent_map.md anew from the ledger and the intents file, keeping the prose around it, and returns what
// it says. The same ledger and file give the same map.
func (s *Server) WriteIntentMap(ctx context.Context) ([]intentmap.Entry, error) {
	known := s.knownIntents()
	if known == nil {
		_, err := s.intents.Load()
		return nil, err
	}
	if err := s.recorder.Settle(ctx); err != nil {
		return nil, err
	}
	changed, err := s.changedUnderIntents(ctx)
	if err != nil {
		return nil, err
	}
	entries := []intentmap.Entry{}
	for _, id := range slices.Sorted(maps.Keys(changed)) {
		entry := intentmap.Entry{IntentID: id}
		entry.Name, entry.Status, _ = known(id)
		for _, path := range slices.Sorted(maps.Keys(changed[id])) {
			entry.Files = append(entry.Files, intentmap.File{Path: path, Changed: changed[id][path].UTC()})
		}
		entries = append(entries, entry)
	}
	return entries, intentmap.Update(ctx, s.workspace.Root(), entries)
}

// changedUnderIntents gathers what the map shows, by intent and path: the last
// change that was no refactor, and was not taken back for want of a record.
func (s *Server) changedUnderIntents(ctx context.Context) (map[string]map[string]time.Time, error) {
	retracted := map[string]bool{}
	recovered, err := s.ledger.Query(ctx, record.Filter{Kinds: []record.Kind{record.KindRecovered}})
	if err != nil {
		return nil, err
	}
	for _, e := range recovered.Entries {
		if id, ok := e.Detail[record.DetailRetracts].(string); ok {
			retracted[id], retracted[e.ID] = true, true
		}
	}
	changed := map[string]map[string]time.Time{}
	_, err = s.ledger.Scan(ctx, func(e record.Entry) error {
		if e.MutationClass != string(mutation.Evolution) || e.IntentID == "" || e.IntentID == hooks.UntrackedIntent || retracted[e.ID] {
			return nil
		}
		for _, c := range e.Changes {
			files := changed[e.IntentID]
			if files == nil {
				files = map[string]time.Time{}
				changed[e.IntentID] = files
			}
			if e.Time.After(files[c.Path]) {
				files[c.Path] = e.Time
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("gather the changes of the intents: %w", err)
	}
	return changed, nil
}
