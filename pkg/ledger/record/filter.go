package record

import (
	"path"
	"slices"
	"strings"
	"time"
)

// Filter says which records a query gives. Zero fields do not filter.
type Filter struct {
	ID       string // the record's id, or its line's hash
	IntentID string
	// Path selects records that changed this file or moved it; with a final slash, anything below. A decision matches
	// by the paths that it was about.
	Path string
	// Name selects as Path does, by what stands behind the last slash, in whatever directory.
	Name string
	// Line narrows Path to the records that changed what is line Line now, newest first: it is followed back through
	// the hunks. See Result.Gap. Content is the hash of the file as it is now, if known.
	Line    int
	Content string
	Kinds   []Kind
	Class   string // the mutation class
	Session string // the public id
	Since   time.Time
	Until   time.Time // exclusive
	Limit   int
	// Newest gives the last record first, and reads from the end: a small Limit is cheap however long the ledger is,
	// and so is every ID, IntentID and Path that few records have.
	Newest bool
	// Without are records that the caller has: they are not given again, and not read through.
	Without []Entry
}

// Matches reports whether the entry passes the filter, but for Line and Limit.
func (f Filter) Matches(e Entry) bool {
	switch {
	case f.ID != "" && f.ID != e.ID && f.ID != e.Hash,
		f.IntentID != "" && f.IntentID != e.IntentID && !slices.Contains(e.Related, f.IntentID),
		len(f.Kinds) > 0 && !slices.Contains(f.Kinds, e.Kind),
		f.Class != "" && f.Class != e.MutationClass,
		f.Session != "" && f.Session != e.Session,
		!f.Since.IsZero() && e.Time.Before(f.Since),
		!f.Until.IsZero() && !e.Time.Before(f.Until):
		return false
	}
	return (f.Path == "" || MatchesPath(e, f.OnPath)) && (f.Name == "" || MatchesPath(e, func(p string) bool { return path.Base(p) == f.Name }))
}

// OnPath reports whether a path is the one that is wanted, or below it.
func (f Filter) OnPath(p string) bool {
	return p == f.Path || strings.HasSuffix(f.Path, "/") && strings.HasPrefix(p, f.Path)
}

func MatchesPath(e Entry, matches func(string) bool) bool {
	for _, c := range e.Changes {
		if matches(c.Path) || matches(c.From) {
			return true
		}
	}
	if e.Decision != nil && slices.ContainsFunc(e.Decision.Paths, matches) {
		return true
	}
	return slices.ContainsFunc(e.Files, matches)
}
