package intent

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"slices"
)

// Texts are all that a Set is made of, so that the same one can be made of them later, wherever the files have gone.
type Texts struct {
	// Files have the text of each file that there is, by its path in the workspace.
	Files map[string][]byte `json:"files,omitempty"`
	// Faults say of a file why it could not be read as a whole.
	Faults map[string]string `json:"faults,omitempty"`
	// Standing are the declared ids on lines of their own that named an entry of the workspace too.
	Standing []string `json:"standing,omitempty"`
	// Trusted are the hashes of what the operator has trusted (Weakening).
	Trusted []string `json:"trusted,omitempty"`
}

// IgnorePaths are the ignore files, relative to the workspace.
func IgnorePaths() []string { return slices.Clone(ignorePaths[:]) }

// Texts are those that the set was made of. They are not to be changed.
func (s *Set) Texts() *Texts { return s.texts }

// Texts are what the files said when they were read last, which may make no Set.
func (s *Store) Texts() *Texts {
	_, _ = s.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.textsNow()
}

func (s *Store) textsNow() *Texts {
	if s.texts != nil {
		return s.texts
	}
	t := &Texts{Files: map[string][]byte{}, Faults: map[string]string{}}
	take := func(name string, file *cachedFile, err error) {
		if file.known {
			t.Files[name] = file.data
		} else if at, is := errors.AsType[*UnreadableError](err); is && at.Line == 0 {
			t.Faults[name] = at.Reason
		}
	}
	take(filePath, &s.intents, s.intentsErr)
	for i, name := range ignorePaths {
		take(name, &s.ignores[i], s.rules[i].err)
		for _, r := range s.rules[i].file.bare {
			if s.stands(r.id) {
				t.Standing = append(t.Standing, r.id)
			}
		}
	}
	for _, w := range s.weakenings() {
		if len(w.Entries) > 0 && w.Trusted {
			t.Trusted = append(t.Trusted, w.Hash)
		}
	}
	return t
}

// OpenTexts returns the store of texts in the place of files. It changes nothing, and trusts what they say is trusted.
func OpenTexts(t *Texts) *Store {
	return (&Store{texts: t}).TrustedBy(func(hash string) bool { return slices.Contains(t.Trusted, hash) })
}

// refresh makes the content of a file the one that it has now.
func (s *Store) refresh(c *cachedFile, name string) (changed bool, err error) {
	if s.texts == nil {
		return s.reread(c, name)
	}
	data, is := s.texts.Files[name]
	if fault := s.texts.Faults[name]; fault != "" {
		return true, &UnreadableError{File: name, Reason: fault}
	}
	if !is {
		return true, fs.ErrNotExist
	}
	changed = !c.known || !bytes.Equal(data, c.data)
	c.known, c.data = true, data
	return changed, nil
}

// stands reports whether the workspace has an entry of that name.
func (s *Store) stands(name string) bool {
	if s.texts != nil {
		return slices.Contains(s.texts.Standing, name)
	}
	_, err := s.root.Lstat(name)
	return err == nil
}

// Proposed are the texts as they are with other files, by their paths in the workspace; nil leaves one out. Whoever gives them
// trusts them.
func (s *Store) Proposed(files map[string][]byte) *Texts {
	now := s.Texts()
	t := &Texts{Files: maps.Clone(now.Files), Faults: maps.Clone(now.Faults), Trusted: slices.Clone(now.Trusted)}
	for name, data := range files {
		delete(t.Files, name)
		delete(t.Faults, name)
		if data != nil {
			t.Files[name] = data
		}
	}
	store := OpenTexts(t)
	_, _ = store.Load() // what is wrong is for who judges by them
	for i := range store.rules {
		for _, r := range store.rules[i].file.bare {
			if s.stands(r.id) {
				t.Standing = append(t.Standing, r.id)
			}
		}
	}
	for _, w := range store.weakenings() {
		if _, given := files[w.File]; given && len(w.Entries) > 0 {
			t.Trusted = append(t.Trusted, w.Hash)
		}
	}
	return t
}
