package insight

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

const (
	// leastRecords is the history below which nothing is proposed.
	leastRecords = 5
	// worth: a proposal covers less than so many tenths of the files, or it is not worth a change.
	worth = 9
)

// ScopeUse is how much of its scope an intent has used.
type ScopeUse struct {
	IntentID string        `json:"intent_id"`
	Name     string        `json:"name"`
	Status   intent.Status `json:"status"`
	Scope    []string      `json:"scope"` // the globs now
	Files    int           `json:"files"` // that they match now
	Records  int           `json:"records"`
	Touched  int           `json:"touched"` // different paths under the scope that were changed, created, deleted or moved
	Outside  int           `json:"outside"` // and that are not under it, as it is now

	Proposal []string `json:"proposal"`       // globs; none: see Reason
	Proposed int      `json:"proposed_files"` // that they match now
	Reason   string   `json:"reason,omitempty"`
}

// Scopes compares the scope of each intent that has one with what was touched under it, over all that the collector has read,
// in the order of the file. It walks the workspace twice.
func (c *Collector) Scopes(ctx context.Context, store *intent.Store) ([]ScopeUse, error) {
	set, err := store.Load()
	if err != nil {
		return nil, err
	}
	var all []*scopeUse
	for _, in := range set.All() {
		if !in.Scope().Unrestricted() {
			all = append(all, c.usedOf(in))
		}
	}
	if err := count(ctx, store, all, func(s *scopeUse) *intent.Scope { return s.scope }, (*scopeUse).has); err != nil {
		return nil, err
	}
	for _, s := range all {
		s.propose()
	}
	narrow := func(s *scopeUse) *intent.Scope { return s.narrow }
	if err := count(ctx, store, all, narrow, func(s *scopeUse, _ string) { s.Proposed++ }); err != nil {
		return nil, err
	}
	list := []ScopeUse{}
	for _, s := range all {
		if s.narrow != nil && s.Proposed*10 >= s.Files*worth {
			s.refuse("it has used nearly all that its scope covers")
		}
		list = append(list, s.ScopeUse)
	}
	return list, nil
}

// scopeUse is a ScopeUse that is worked out.
type scopeUse struct {
	ScopeUse
	scope, narrow *intent.Scope
	touched       []string       // under the scope
	files         map[string]int // that the scope matches, by directory
}

// usedOf takes what was collected of an intent.
func (c *Collector) usedOf(in *intent.Intent) *scopeUse {
	s := &scopeUse{scope: in.Scope(), files: map[string]int{}, ScopeUse: ScopeUse{
		IntentID: in.ID, Name: in.Name, Status: in.Status, Scope: in.Scope().Globs(), Proposal: []string{},
	}}
	c.mu.Lock()
	defer c.mu.Unlock()
	u := c.counts.uses[in.ID]
	if u == nil {
		s.refuse("nothing was changed under it")
		return s
	}
	s.Records = u.records
	for _, p := range slices.Sorted(maps.Keys(u.paths)) {
		if s.scope.Match(p) {
			s.touched = append(s.touched, p)
		}
	}
	s.Touched, s.Outside = len(s.touched), len(u.paths)-len(s.touched)
	switch {
	case u.full:
		s.refuse("it has touched too many different paths")
	case s.Records < leastRecords:
		s.refuse(fmt.Sprintf("only %d of the %d changes that are needed to tell", s.Records, leastRecords))
	case s.Touched == 0:
		s.refuse("nothing that it touched is in its scope now")
	}
	return s
}

func (s *scopeUse) refuse(reason string) {
	s.Reason, s.Proposal, s.Proposed, s.narrow = reason, []string{}, 0, nil
}

func (s *scopeUse) has(dir string) {
	s.Files++
	if s.Reason == "" {
		s.files[dir]++
	}
}

// propose works out a tighter scope. It is held to what it promises: names that no glob can say leave none.
func (s *scopeUse) propose() {
	if s.Reason != "" {
		return
	}
	globs := Narrow(s.scope, s.files, s.touched)
	scope, err := intent.CompileScope(globs)
	if err != nil || slices.ContainsFunc(s.touched, func(p string) bool { return !scope.Match(p) }) {
		s.refuse("it has touched a path whose name no glob can say")
		return
	}
	s.Proposal, s.narrow = globs, scope
}

// count walks the workspace and tells each of those that have a scope about the directory of every file in it.
func count(ctx context.Context, store *intent.Store, all []*scopeUse, scope func(*scopeUse) *intent.Scope, has func(s *scopeUse, dir string)) error {
	all = slices.DeleteFunc(slices.Clone(all), func(s *scopeUse) bool { return scope(s) == nil })
	var trail [][]intent.Position // of each directory from the workspace down, of each scope
	return store.Walk(".", func(name string, isDir bool) error {
		depth := strings.Count(name, "/") + 1
		dir, base := path.Split(name)
		dir = path.Clean(dir)
		switch {
		case name == ".":
			top := make([]intent.Position, len(all))
			for i, s := range all {
				top[i] = scope(s).Top()
			}
			trail = append(trail, top)
		case isDir:
			below := make([]intent.Position, len(all))
			for i := range all {
				below[i] = trail[depth-1][i].Below(base)
			}
			trail = append(trail[:depth], below)
		default:
			for i, s := range all {
				if trail[depth-1][i].Has(base) {
					has(s, dir)
				}
			}
		}
		return ctx.Err()
	})
}
