package session

import (
	"cmp"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	unloadAfter   = time.Hour
	maxStored     = 10_000 // sessions on disk; the longest idle are removed first
	temporaryLife = time.Hour
)

// boundViews takes the views of the longest idle sessions out of memory while there are too many.
func (s *Store) boundViews() {
	sessions := s.all()
	total := 0
	for _, sess := range sessions {
		total += sess.len()
	}
	slices.SortFunc(sessions, func(a, b *Session) int { return cmp.Compare(a.used.Load(), b.used.Load()) })
	for _, sess := range sessions {
		if total <= maxLoadedViews {
			return
		}
		total -= len(sess.take())
	}
}

func (s *Store) all() []*Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.loaded))
}

// tidy drops what has expired, from memory and from disk. Idle sessions that are on disk leave memory.
func (s *Store) tidy() {
	for _, sess := range s.all() {
		sess.mu.Lock()
		stored := sess.onDisk != nil
		sess.mu.Unlock()
		if sess.idle() > unloadAfter && stored || sess.expired() {
			s.unload(sess)
		}
	}
	s.mu.Lock()
	oldest := s.Clock().Add(-s.Lifetime).UnixNano()
	maps.DeleteFunc(s.connections, func(_ connectionID, conn *connection) bool { return conn.used < oldest })
	s.mu.Unlock()
	if err := s.tidyDisk(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Logger.Warn().Err(err).Msg("expired session state could not be removed")
	}
}

func (s *Store) tidyDisk() error {
	dir, err := s.disk.confirmed(false)
	if err != nil {
		return err
	}
	names, err := listNames(dir)
	if err != nil {
		return err
	}
	used := map[string]time.Time{} // of the selections that stay
	for _, name := range names {
		info, err := dir.Lstat(name)
		if err != nil {
			continue
		}
		idle := s.Clock().Sub(info.ModTime())
		_, isSelection := selectionKey(name)
		switch {
		case isSelection && outlived(idle, s.Lifetime+renewEvery):
			removeStored(dir, name)
		case isSelection:
			used[name] = info.ModTime()
		case strings.HasSuffix(name, temporarySuffix) && time.Since(info.ModTime()) > temporaryLife,
			strings.HasSuffix(name, linkSuffix) && outlived(idle, linkLife), strings.HasSuffix(name, joinSuffix) && outlived(idle, joinLife),
			strings.HasSuffix(name, viewsSuffix) && outlived(idle, s.Lifetime) && !stands(dir, strings.TrimSuffix(name, viewsSuffix)+selectionSuffix):
			dir.Remove(name)
		}
	}
	longestIdle := slices.SortedFunc(maps.Keys(used), func(a, b string) int { return used[a].Compare(used[b]) })
	for _, name := range longestIdle[:max(0, len(longestIdle)-maxStored)] {
		removeStored(dir, name)
	}
	return nil
}

func removeStored(dir *os.Root, selectionName string) {
	dir.Remove(selectionName)
	dir.Remove(strings.TrimSuffix(selectionName, selectionSuffix) + viewsSuffix)
}

func stands(dir *os.Root, name string) bool {
	_, err := dir.Lstat(name)
	return err == nil
}

func listNames(dir *os.Root) (names []string, err error) {
	entries, err := fs.ReadDir(dir.FS(), ".")
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names, err
}

// selectionKey tells a selection file by its name from everything else that may stand there.
func selectionKey(name string) (digest, bool) {
	var key digest
	text, isSelection := strings.CutSuffix(name, selectionSuffix)
	if !isSelection || len(text) != hex.EncodedLen(len(key)) {
		return digest{}, false
	}
	_, err := hex.Decode(key[:], []byte(text))
	return key, err == nil && key.String() == text
}

// EndIntent ends the selections of an intent that is done or blocked: in this process, and, through the files, in every
// other. A selection that cannot be ended on disk is logged; Options.Ended is the second guard against it.
func (s *Store) EndIntent(intentID string) {
	for _, sess := range s.all() {
		sess.end(intentID)
	}
	err := s.disk.each(func(key digest, sel selection, _ time.Time) {
		if sel.IntentID != intentID || sel.Ended {
			return
		}
		if sess := s.current(key); sess != nil {
			sess.end(intentID)
		}
	})
	if err != nil {
		s.Logger.Warn().Err(err).Str("intent", intentID).Msg("stored selections of an ended intent could not be listed")
	}
}

// Listed is a session as somebody sees it who has no handle.
type Listed struct {
	PublicID                           string
	IntentID                           string
	ClientName, ClientVersion, ModelID string
	Server                             string    // Options.Server of the process in which it last selected
	StartedAt, LastUsed                time.Time // LastUsed is at most a minute behind
	Ended                              bool      // its intent is done or blocked
}

// List lists the sessions of a workspace that are on disk, the last used first, without changing anything. A file that
// cannot be read is left out: its session has expired.
func List(workspace *os.Root) ([]Listed, error) {
	d := &disk{workspace: workspace}
	defer d.close()
	var found []Listed
	err := d.each(func(_ digest, sel selection, used time.Time) {
		found = append(found, Listed{
			PublicID: sel.PublicID.String(), IntentID: sel.IntentID, ClientName: sel.ClientName,
			ClientVersion: sel.ClientVersion, ModelID: sel.ModelID, Server: sel.Server, StartedAt: sel.StartedAt,
			LastUsed: used, Ended: sel.Ended,
		})
	})
	slices.SortFunc(found, func(a, b Listed) int { return b.LastUsed.Compare(a.LastUsed) })
	return found, err
}

// each reads the selections on disk. A file that cannot be read is left out; there are none where there is no directory.
func (d *disk) each(visit func(key digest, sel selection, used time.Time)) error {
	dir, err := d.confirmed(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	names, err := listNames(dir)
	for _, name := range names {
		if key, isSelection := selectionKey(name); isSelection {
			if sel, info, err := d.readSelection(name); err == nil {
				visit(key, sel, info.ModTime())
			}
		}
	}
	return err
}
