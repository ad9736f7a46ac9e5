// Package intentmap keeps .orchestration/intent_map.md: which files were changed under which intent, for people.
//
// It promises: the same entries give the same bytes; all text outside the two markers stays byte for byte; a name or a
// path, whatever characters it has, stays on its line and inside its code span; the file is replaced whole, under the
// lock of the .orchestration directory, and never over a change made by an editor in between. If the markers are broken
// (one is missing, one stands twice, or their order is wrong) nothing is written and the error is ErrMarkers: what lies
// between such markers may be prose.
//
// A file without markers can be one of an earlier tool. The first run of its sections that have our form, a heading and a
// list of paths, is taken over into the block, so that no intent stands there twice; a file without a date is one of
// which the ledger knows no change.
//
// It is a view, not a record: what a person writes between the markers is lost, and the ledger is the truth.
//
// # Format
//
//	<!-- orchestra-mcp intent map: begin (generated, edit outside the markers) -->
//	## INT-001: Build Weather API
//
//	IN_PROGRESS, last change 2026-02-18
//
//	- `src/weather.ts` (2026-02-18)
//	<!-- orchestra-mcp intent map: end -->
//
// Intents are sorted by id, paths by bytes; the date is that of the last change, in UTC. An intent that is no longer declared
// has no status. A path with a backtick, a backslash, a leading quote or characters that do not print stands as a Go string
// literal inside the code span, the backtick as \x60.
package intentmap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/orchdir"
)

const (
	fileName = "intent_map.md"
	maxBytes = 16 << 20
)

// ErrMarkers: the markers in the file are incomplete, doubled or in the wrong order. The file was left alone.
var ErrMarkers = errors.New("the markers in .orchestration/intent_map.md are broken: restore both, or delete both for " +
	"a new map at the end of the file")

// Entry is one intent with its files.
type Entry struct {
	IntentID string
	Name     string
	Status   string // "" if it is not known
	Files    []File
}

// Known tells what an intent is called now, and its status; false for one that is not declared.
type Known func(intentID string) (name, status string, ok bool)

// File is a changed file and the time of its last change, zero if that is not known.
type File struct {
	Path    string
	Changed time.Time
}

// Update replaces the map by the entries. Files without a date stay.
func Update(ctx context.Context, root *os.Root, entries []Entry) error {
	return rewrite(ctx, root, func(old []Entry) []Entry { return append(undated(old), entries...) })
}

// Record adds changed files of intents to the map. What stands there of other intents stays; a path that stands there
// gets the later date. Names and statuses become what known says, where it is given. Without anything to add, a map
// that does not exist is not made.
func Record(ctx context.Context, root *os.Root, added []Entry, known Known) error {
	return rewrite(ctx, root, func(old []Entry) []Entry {
		if len(added) == 0 && old == nil {
			return nil
		}
		entries := append(old, added...)
		for i := range entries {
			if known == nil {
				break
			}
			name, status, ok := known(entries[i].IntentID)
			entries[i].Status = ""
			if ok {
				entries[i].Name, entries[i].Status = name, status
			}
		}
		return entries
	})
}

// undated are the files of which no change is known: another tool listed them.
func undated(entries []Entry) []Entry {
	kept := []Entry{}
	for _, e := range entries {
		e.Files = slices.DeleteFunc(slices.Clone(e.Files), func(f File) bool { return !f.Changed.IsZero() })
		if len(e.Files) > 0 {
			kept = append(kept, e)
		}
	}
	return kept
}

// rewrite changes the map.
func rewrite(ctx context.Context, root *os.Root, change func([]Entry) []Entry) error {
	file := orchdir.File{Root: root, Name: fileName, Limit: maxBytes}
	err := orchdir.Rewrite(ctx, file, func(old []byte) ([]byte, error) {
		if old == nil {
			if entries := change(nil); entries != nil {
				return []byte("# Intent map\n\n" + render(entries, "\n")), nil
			}
			return nil, nil
		}
		text, err := split(string(old))
		if err != nil {
			return nil, err
		}
		return []byte(text.before + render(change(parse(text.block)), text.eol) + text.after), nil
	})
	if err != nil {
		return fmt.Errorf("intent map: %w", err)
	}
	return nil
}

// merge joins entries of one intent, the last name and status counting, and files of one path, the latest time counting.
func merge(entries []Entry) []Entry {
	byID := map[string]*Entry{}
	var out []*Entry
	for _, e := range entries {
		to := byID[e.IntentID]
		if to == nil {
			to = &Entry{IntentID: e.IntentID}
			byID[e.IntentID], out = to, append(out, to)
		}
		to.Name, to.Status = e.Name, e.Status
		to.Files = append(to.Files, e.Files...)
	}
	merged := make([]Entry, len(out))
	for i, e := range out {
		slices.SortFunc(e.Files, func(a, b File) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), b.Changed.Compare(a.Changed))
		})
		e.Files = slices.CompactFunc(e.Files, func(a, b File) bool { return a.Path == b.Path })
		merged[i] = *e
	}
	slices.SortFunc(merged, func(a, b Entry) int { return cmp.Compare(a.IntentID, b.IntentID) })
	return merged
}
