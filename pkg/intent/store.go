package intent

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
)

// The ignore files, relative to the workspace. Each is judged by itself.
var ignorePaths = [...]string{orchdir.Name + "/.intentignore", ".intentignore"}

// Store gives access to the intent files of one workspace. It is safe for concurrent use.
type Store struct {
	root  *os.Root
	now   func() time.Time
	trust Trust // nil trusts nothing

	mu      sync.Mutex
	top     *durable.Top // of root
	intents cachedFile
	ignores [len(ignorePaths)]cachedFile
	doc     *document // of intents.data
	docErr  error
	// intentsErr is what the last look at active_intents.yaml failed with.
	intentsErr error
	rules      [len(ignorePaths)]parsedIgnore
	set        *Set // of doc and rules

	texts *Texts // in the place of the files; nil: there are files
}

// parsedIgnore is the outcome of parsing one ignore file.
type parsedIgnore struct {
	file ignoreFile
	err  error
}

// Open returns the store of the workspace root. It does no I/O; root must stay open as long as the store is used.
func Open(root *os.Root) *Store {
	return &Store{root: root, top: durable.Hold(root), now: time.Now}
}

// Initialized reports whether active_intents.yaml exists, readable or not.
func (s *Store) Initialized() bool {
	_, err := s.root.Lstat(filePath)
	return err == nil
}

// Load returns what the files say now. Files that have not changed are not read again where the system can tell.
//
// Without active_intents.yaml the error is ErrNotInitialized; where a file cannot be understood it is an *UnreadableError.
func (s *Store) Load() (*Set, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed, err := s.loadIntents()
	ignoreChanged, ignoreErr := s.loadIgnores(changed)
	switch {
	case err != nil:
		return nil, err
	case ignoreErr != nil:
		return nil, ignoreErr
	}
	if trusted := s.askTrust(); changed || ignoreChanged || trusted || s.set == nil {
		s.set = newSet(s.doc, s.ignoreRules())
		s.set.texts = s.textsNow()
	}
	return s.set, nil
}

// Ignore returns the rules of the .intentignore files alone, which hold whatever the state of the intents file; where
// that cannot be read, no id is declared. On an error the result is not nil: it has every rule that is clear, for read tools, which go on and must keep secrets.
func (s *Store) Ignore() (*Ignore, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	declared, _ := s.loadIntents() // what is wrong with them is Load's to report
	changed, err := s.loadIgnores(declared)
	if trusted := s.askTrust(); declared || changed || trusted {
		s.set = nil
	}
	return s.ignoreRules(), err
}

// loadIntents refreshes the document and reports whether it was parsed anew.
func (s *Store) loadIntents() (changed bool, err error) {
	defer func() { s.intentsErr = err }()
	fresh, err := s.refresh(&s.intents, filePath)
	if errors.Is(err, fs.ErrNotExist) {
		s.doc, s.set = nil, nil
		return true, ErrNotInitialized
	}
	if err != nil {
		s.doc, s.set = nil, nil
		return true, unreadableFile(filePath, err)
	}
	if fresh || (s.doc == nil && s.docErr == nil) {
		s.doc, s.docErr = decodeFile(s.intents.data)
		return true, s.docErr
	}
	return false, s.docErr
}

// loadIgnores refreshes the rules of both files and reports whether any was parsed anew. The ids that the intents file
// declares are part of what a line means.
func (s *Store) loadIgnores(declared bool) (changed bool, first error) {
	for i, name := range ignorePaths {
		fresh, err := s.refresh(&s.ignores[i], name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			changed = changed || s.rules[i].file.name != ""
			s.rules[i] = parsedIgnore{}
		case err != nil:
			changed = true
			s.rules[i] = parsedIgnore{err: unreadableFile(name, err)}
		case fresh || declared || s.rules[i].file.name == "":
			changed = true
			s.rules[i].file, s.rules[i].err = parseIgnore(name, s.ignores[i].data, s.declares)
			s.rules[i].file.weakening = weakeningOfIgnore(&s.rules[i].file, s.ignores[i].data)
		}
		if first == nil || s.rules[i].err != nil && wholly(s.rules[i].err) && !wholly(first) {
			first = s.rules[i].err
		}
		if first == nil {
			first = s.unclear(&s.rules[i].file)
		}
	}
	return changed, first
}

// wholly: nothing of a file can be read. That outranks a line of the other file, for it may have kept secrets.
func wholly(err error) bool {
	var unreadable *UnreadableError
	return errors.As(err, &unreadable) && unreadable.Line == 0
}

// declares reports whether an intent has the id, as far as the intents file can be read.
func (s *Store) declares(id string) bool {
	return s.doc != nil && slices.ContainsFunc(s.doc.intents, func(in *Intent) bool { return in.ID == id })
}

// unclear looks for bare ids that are paths as well: whether they are is no property of the files that are read.
func (s *Store) unclear(file *ignoreFile) error {
	for _, r := range file.bare {
		if s.stands(r.id) {
			return &UnreadableError{File: file.name, Line: r.line, Column: 1, Reason: fmt.Sprintf(
				"%s is the id of a declared intent and also a path that exists: write approve:%s if changes under that intent need an approval, "+
					"or /%s if nobody may change that path", r.id, r.id, r.id)}
		}
	}
	return nil
}

func (s *Store) ignoreRules() *Ignore {
	g := &Ignore{}
	for _, r := range s.rules {
		if r.file.name != "" {
			g.files = append(g.files, r.file)
		}
	}
	return g
}

// newSet makes a snapshot.
func newSet(doc *document, ignore *Ignore) *Set {
	set := &Set{intents: doc.intents, byID: make(map[string]*Intent, len(doc.intents)), ignore: ignore,
		commandsTrusted: doc.weakening.Trusted}
	for _, i := range doc.intents {
		set.byID[i.ID] = i
	}
	set.warnings = append(doc.warnings[:len(doc.warnings):len(doc.warnings)], ignore.unknownIDs(set.byID)...)
	return set
}

// unreadableFile says why a file as a whole cannot be read.
func unreadableFile(name string, err error) error {
	if at, is := errors.AsType[*UnreadableError](err); is {
		return at
	}
	reason := fmt.Sprintf("cannot be read: %v", err)
	switch {
	case errors.Is(err, orchdir.ErrNotRegular):
		reason = "is not a regular file: replace it by one"
	case errors.Is(err, orchdir.ErrNotDirectory):
		reason = "is in a directory that is a link: replace it by a real one"
	case errors.Is(err, orchdir.ErrTooLarge):
		reason = fmt.Sprintf("is over %d bytes", maxFileBytes)
	}
	return &UnreadableError{File: name, Reason: reason, cause: err}
}

// settleTime is the age that a change must have before an unchanged state of the file proves unchanged content: two
// writes within one tick of the file system's clock leave the same time.
const settleTime = 2 * time.Second

// cachedFile is the last content read of one file.
type cachedFile struct {
	known   bool
	stamp   durable.Stat
	settled bool // at the time of reading, the last change was older than settleTime
	data    []byte
	reads   int // how often the file was read, for tests
}

// unchanged reports whether what is there now proves the content that is known.
func (c *cachedFile) unchanged(now durable.Stat) bool {
	return c.known && c.settled && durable.Unchanged(c.stamp, now) && c.stamp.Changed.Equal(now.Changed)
}

// reread makes the data of c the content of the file and reports whether it differs from before.
func (s *Store) reread(c *cachedFile, name string) (changed bool, err error) {
	place, base := orchdir.Workspace, name
	if rest, ok := strings.CutPrefix(name, orchdir.Name+"/"); ok {
		place, base = orchdir.Directory, rest
	}
	stamp, err := s.stamp(place, name)
	if err != nil {
		*c = cachedFile{reads: c.reads}
		return true, err
	}
	if c.unchanged(stamp) {
		return false, nil
	}
	c.reads++
	data, info, err := orchdir.ReadFile(s.root, place, base, maxFileBytes)
	if err != nil {
		*c = cachedFile{reads: c.reads}
		return true, err
	}
	changed = !c.known || !bytes.Equal(data, c.data)
	if changed {
		c.data = data
	}
	c.known, c.stamp = true, durable.StatInfo(info)
	c.settled = !c.stamp.Changed.IsZero() && c.stamp.Changed.Before(s.now().Add(-settleTime))
	return changed, nil
}

// stamp describes a file as it is now. A link in the place of the directory would lead to files that an agent may write.
func (s *Store) stamp(place orchdir.Place, name string) (durable.Stat, error) {
	if place == orchdir.Directory {
		dir, err := s.top.Lstat(orchdir.Name)
		if err != nil {
			return durable.Stat{}, err
		}
		if !dir.Mode.IsDir() {
			return durable.Stat{}, orchdir.ErrNotDirectory
		}
	}
	return s.top.Lstat(name)
}
