package kept

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Obey takes out what the rules have made secret since it was stored, and reports whether it looked. Where they are the
// same as before it does not.
func (s *Store) Obey() (looked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.sweeps
	s.obey()
	return s.sweeps != before
}

// obey gives the rules that the store is held to; digest is "" where it is not. The caller holds the lock.
func (s *Store) obey() (is func(path string) bool, digest string) {
	is, digest = s.options.Secrets()
	if digest == "" || digest == s.obeyed {
		return is, digest
	}
	dir, done, err := s.dir.Open(false)
	if errors.Is(err, fs.ErrNotExist) { // nothing is stored
		s.obeyed = digest
		return is, digest
	}
	if err == nil {
		defer done()
		// What this process stored under other rules is not what the file speaks of.
		if s.obeyed != "" || obeyed(dir) != digest {
			err = s.sweep(dir, is, digest)
		}
	}
	if err != nil {
		s.complain(err)
		return is, ""
	}
	s.obeyed = digest
	return is, digest
}

// obeyed is the digest of the rules that the store was last held to, by any process.
func obeyed(dir *os.Root) string {
	digest, err := durable.ReadRegularIn(dir, rulesFile, 1<<10)
	if err != nil {
		return ""
	}
	return string(digest)
}

// sweep takes out what is secret by these rules, and what may be: contents of which the paths are not known, and files of
// earlier versions of this program.
func (s *Store) sweep(dir *os.Root, secret func(path string) bool, digest string) error {
	s.sweeps++
	packs, err := list(dir)
	if err != nil {
		return err
	}
	had := map[string]paths{}
	for _, p := range packs {
		if err := p.paths(dir, had); err != nil {
			return err
		}
	}
	gone := map[string]bool{}
	for id, of := range had {
		covered := secret != nil && of.known() && slices.ContainsFunc(of, secret)
		if covered && len(s.denied) < maxDenied {
			s.denied[id] = true
		}
		gone[id] = covered || !of.known()
	}
	for _, p := range packs {
		if err := s.takeOut(dir, p, gone); err != nil {
			return err
		}
	}
	if err := removeLeft(dir, func(fs.FileInfo) bool { return true }); err != nil {
		return err
	}
	return s.writeRules(dir, digest)
}

// paths adds those that the contents of a pack had.
func (p stored) paths(dir *os.Root, had map[string]paths) error {
	file, err := openPack(dir, p.name, os.O_RDONLY)
	if err != nil || file == nil {
		return err
	}
	defer file.Close()
	for _, one := range p.table {
		if one.id != "" {
			had[one.id] = had[one.id].with(readPaths(io.NewSectionReader(file, one.at, one.size)))
		}
	}
	return nil
}

// takeOut overwrites contents of a pack, and what a process that is no more was writing into it.
func (s *Store) takeOut(dir *os.Root, p stored, gone map[string]bool) error {
	if s.foreign(p) {
		return remove(dir, p.name)
	}
	file, err := openPack(dir, p.name, os.O_RDWR)
	if err != nil || file == nil {
		return err
	}
	defer file.Close()
	for i, one := range p.table {
		if gone[one.id] {
			err = cmp.Or(err, takeOut(file, i, one))
		}
	}
	if locked, lockErr := durable.TryLock(file); locked || lockErr != nil || s.pack != nil && s.pack.name == p.name {
		now, tableErr := readTable(file, 0)
		err = cmp.Or(err, tableErr)
		if err == nil {
			err = file.Truncate(endOf(now))
		}
	}
	return err
}

// foreign reports whether no store wrote a pack: what its slots claim could take for ever to be overwritten.
func (s *Store) foreign(p stored) bool {
	claimed, data := int64(0), endOf(p.table)-tableSize
	for _, one := range p.table {
		claimed += one.size
	}
	return claimed > data || data > s.options.Size/parts+s.options.Largest+overhead+flushAt
}

// Deny has contents that a secret file has kept under no path, as long as this Store is there.
func (s *Store) Deny(ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := map[string]bool{}
	for _, id := range ids {
		if validID(id) && !s.denied[id] {
			s.denied[id], gone[id] = true, true
		}
	}
	if len(gone) == 0 {
		return
	}
	dir, done, err := s.dir.Open(false)
	if err != nil {
		return // nothing is stored
	}
	defer done()
	packs, err := list(dir)
	for _, p := range packs {
		if slices.ContainsFunc(p.table, func(one slot) bool { return gone[one.id] }) {
			err = cmp.Or(err, s.takeOut(dir, p, gone))
		}
	}
	if err != nil {
		s.complain(err)
	}
}

// Denied reports whether a secret file had a content.
func (s *Store) Denied(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.denied[id]
}
