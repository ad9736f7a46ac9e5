package workspace

import (
	"errors"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Set resolves many paths exactly. Targets in one directory share its descriptor, which stays open until Close. It is for one
// goroutine; the zero value is not of use, see Workspace.Set.
type Set struct {
	w      *Workspace
	levels []level // of the last path
	kept   []*durable.Dir
}

// Set is for the paths of one change of many files.
func (w *Workspace) Set() *Set { return &Set{w: w} }

// ResolveExactly is that of Workspace. It is cheapest for paths that are sorted. The target is closed by the caller, and not used
// after Close.
func (s *Set) ResolveExactly(exact string) (*Target, error) {
	if err := validExactly(exact); err != nil {
		return nil, err
	}
	names := components(exact)
	s.back(names[:len(names)-1])
	r := &resolver{w: s.w, pending: names[len(s.levels):], levels: s.levels, exactly: true, lent: true}
	for _, name := range names[:len(s.levels)] {
		r.protect.add(name)
	}
	t, err := r.run()
	s.levels = r.levels
	if err != nil {
		return nil, pathError("resolve", exact, err)
	}
	if n := len(s.levels); n > 0 {
		s.levels[n-1].used = true
	}
	return t, nil
}

// back leaves the directories of the last path that are not on the way of the next.
func (s *Set) back(way []string) {
	same := 0
	for same < min(len(way), len(s.levels)) && way[same] == s.levels[same].name {
		same++
	}
	for _, l := range s.levels[same:] {
		if l.used {
			s.kept = append(s.kept, l.dir)
		} else {
			l.dir.Close()
		}
	}
	s.levels = s.levels[:same]
}

// Close lets go of the directories.
func (s *Set) Close() error {
	s.back(nil)
	var errs []error
	for _, dir := range s.kept {
		errs = append(errs, dir.Close())
	}
	s.kept = nil
	return errors.Join(errs...)
}
