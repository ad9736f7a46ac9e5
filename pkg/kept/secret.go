package kept

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

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

// sweep removes what is secret by these rules, and what may be: contents of which the paths are not known, as those of
// earlier versions of this program, and files that are being written, whose writer begins again.
func (s *Store) sweep(dir *os.Root, secret func(path string) bool, digest string) error {
	s.sweeps++
	files, err := list(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if !strings.HasPrefix(f.name, newPrefix) {
			p := pathsOf(dir, f.name)
			covered := secret != nil && p.known() && slices.ContainsFunc(p, secret)
			if covered && len(s.denied) < maxDenied {
				s.denied[strings.TrimSuffix(f.name, suffix)] = true
			}
			if p.known() && !covered {
				continue
			}
		}
		if err := s.remove(dir, f.name); err != nil {
			return err
		}
	}
	return s.writeFile(dir, rulesFile, []byte(digest), time.Time{})
}

func (s *Store) remove(dir *os.Root, name string) error {
	delete(s.known, strings.TrimSuffix(name, suffix))
	if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Deny has contents that a secret file has kept under no path, as long as this Store is there.
func (s *Store) Deny(ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return s.denied[id] || !validID(id) })
	for _, id := range ids {
		s.denied[id] = true
	}
	dir, done, err := s.dir.Open(false)
	if err != nil {
		return // nothing is stored
	}
	defer done()
	for _, id := range ids {
		if err := s.remove(dir, fileOf(id)); err != nil {
			s.complain(err)
		}
	}
}

// Denied reports whether a secret file had a content.
func (s *Store) Denied(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.denied[id]
}
