package session

import (
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
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
	slices.SortFunc(sessions, func(a, b *Session) int { return int(min(1, max(-1, a.used.Load()-b.used.Load()))) })
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
	sessions := make([]*Session, 0, len(s.loaded))
	for _, sess := range s.loaded {
		sessions = append(sessions, sess)
	}
	return sessions
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
	oldest := s.now().Add(-s.lifetime).UnixNano()
	for id, conn := range s.connections {
		if conn.used < oldest {
			delete(s.connections, id)
		}
	}
	s.mu.Unlock()
	if err := s.tidyDisk(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn().Err(err).Msg("expired session state could not be removed")
	}
}

type storedFile struct {
	name string
	used time.Time
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
	var selections []storedFile
	for _, name := range names {
		info, err := dir.Lstat(name)
		if err != nil {
			continue
		}
		idle := s.now().Sub(info.ModTime())
		_, isSelection := selectionKey(name)
		switch {
		case isSelection && outlived(idle, s.lifetime+renewEvery):
			removeStored(dir, name)
		case isSelection:
			selections = append(selections, storedFile{name, info.ModTime()})
		case strings.HasSuffix(name, temporarySuffix) && time.Since(info.ModTime()) > temporaryLife,
			strings.HasSuffix(name, viewsSuffix) && outlived(idle, s.lifetime) && !stands(dir, strings.TrimSuffix(name, viewsSuffix)+selectionSuffix):
			dir.Remove(name)
		}
	}
	removeExcess(dir, selections)
	return nil
}

func removeExcess(dir *os.Root, selections []storedFile) {
	excess := len(selections) - maxStored
	if excess <= 0 {
		return
	}
	slices.SortFunc(selections, func(a, b storedFile) int { return a.used.Compare(b.used) })
	for _, stored := range selections[:excess] {
		removeStored(dir, stored.name)
	}
}

func removeStored(dir *os.Root, selectionName string) {
	dir.Remove(selectionName)
	dir.Remove(strings.TrimSuffix(selectionName, selectionSuffix) + viewsSuffix)
}

func stands(dir *os.Root, name string) bool {
	_, err := dir.Lstat(name)
	return err == nil
}

func listNames(dir *os.Root) ([]string, error) {
	file, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	names, err := file.Readdirnames(-1)
	if errors.Is(err, io.EOF) {
		err = nil
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

// EndIntent ends the selections of an intent that is done or blocked: in this process, and, through
// the files, in every other. A selection that cannot be ended on disk is logged; Options.Ended is the
// second guard against it.
func (s *Store) EndIntent(intentID string) {
	for _, sess := range s.all() {
		sess.end(intentID)
	}
	dir, err := s.disk.confirmed(false)
	if err != nil {
		return
	}
	names, err := listNames(dir)
	if err != nil {
		s.log.Warn().Err(err).Str("intent", intentID).Msg("stored selections of an ended intent could not be listed")
	}
	for _, name := range names {
		if key, ok := selectionKey(name); ok {
			s.endStored(key, intentID)
		}
	}
}

func (s *Store) endStored(key digest, intentID string) {
	sel, _, err := s.disk.readSelection(key.selectionFile())
	if err != nil || sel.IntentID != intentID || sel.Ended {
		return
	}
	if sess := s.current(key); sess != nil {
		sess.end(intentID)
	}
}
