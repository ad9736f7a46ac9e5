package profile

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/pathglob"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// maxEntries bounds how many entries of the workspace are looked at for one command.
const maxEntries = 200_000

// longest bounds the absolute path of a directory that is looked into, in bytes: everything in it must have a path that
// the kernel takes (4,096), also where it is mounted. One that is longer is closed as a whole.
const longest = 4096 - 1 - 255 - 64

// survey looks at the workspace with the eyes of one request.
type survey struct {
	Request
	root     string
	listings *listings
	patterns []*pathglob.Pattern
	all      bool // there is no scope: everything is in it
	places   map[string]bool
	doubted  []string        // places that only a file declares which an agent can have made
	ways     map[string]bool // towards what was touched
	seen     int
	short    bool // maxEntries was reached
}

// states are how far each pattern of the scope has got on the way to a directory.
type states struct {
	at  []pathglob.State
	all bool // everything from here on is in scope
}

func (s *survey) start() states {
	if s.all {
		return states{all: true}
	}
	at := make([]pathglob.State, len(s.patterns))
	for i, p := range s.patterns {
		at[i] = p.Start()
	}
	return s.settled(at)
}

func (s *survey) settled(at []pathglob.State) states {
	for i, p := range s.patterns {
		if p.Covers(at[i]) {
			return states{all: true}
		}
	}
	return states{at: at}
}

func (s *survey) step(from states, name string) states {
	if from.all {
		return from
	}
	at := make([]pathglob.State, len(s.patterns))
	for i, p := range s.patterns {
		at[i] = p.Step(from.at[i], name)
	}
	return s.settled(at)
}

// matches reports whether what was stepped to is in scope.
func (s *survey) matches(at states) bool {
	for i, state := range at.at {
		if s.patterns[i].Accepts(state) {
			return true
		}
	}
	return at.all
}

// alive reports whether something below can be in scope.
func (s *survey) alive(at states) bool {
	if at.all || s.Rules.Unscoped != nil {
		return true
	}
	for i, p := range s.patterns {
		if names, open := p.Next(at.at[i]); open || len(names) > 0 {
			return true
		}
	}
	return false
}

// towards reports whether a directory, or one in it, is to be opened.
func (s *survey) towards(dir string) bool {
	return s.ways[dir] || slices.ContainsFunc(s.Open, func(open string) bool { return dir == "." || within(dir, open) })
}

// touch has what a rehearsal touched opened.
func (s *survey) touch(t *Touched) {
	if t == nil {
		return
	}
	s.ways = map[string]bool{}
	for dir := range t.Dirs {
		for _, way := range prefixes(dir) {
			s.ways[way] = true
		}
	}
}

// touchedIn reports whether a rehearsal made or removed names in a directory, or changed what has them.
func (s *survey) touchedIn(dir string) bool { return s.Touched != nil && s.Touched.Dirs[dir] }

// roomy reports whether the scope has room, directly in a directory, for something that does not exist.
func (s *survey) roomy(at states, entries []entry) bool {
	if at.all {
		return true
	}
	for i, state := range at.at {
		names, open := s.patterns[i].Next(state)
		if open {
			return true
		}
		for _, name := range names {
			if !has(entries, name) {
				return true
			}
		}
	}
	return false
}

// entry is one name in a directory.
type entry struct {
	name string
	kind fs.FileMode // its type bits
	// closed: nobody may change it, scope or not.
	closed bool
}

// has reports whether a name is among entries, which are sorted.
func has(entries []entry, name string) bool {
	_, is := slices.BinarySearchFunc(entries, name, func(e entry, name string) int { return strings.Compare(e.name, name) })
	return is
}

// list gives what a directory holds, with the names in it judged. It reports
// false if that cannot be known: then nothing in it may be written.
func (s *survey) list(dir string) (*listing, bool) {
	if s.seen >= maxEntries {
		s.short = true
		return &listing{}, false
	}
	at := filepath.Join(s.root, filepath.FromSlash(dir))
	if len(at) > longest || workspace.TooDeep(dir) {
		return &listing{}, false
	}
	found, ok := s.listings.read(at, dir)
	if !ok {
		return &listing{}, false
	}
	s.seen += len(found.entries)
	if !s.ruled() || !s.named(dir, found.entries) {
		return found, true
	}
	judged := &listing{entries: slices.Clone(found.entries)}
	above := ""
	if dir != "." {
		above = dir + "/"
	}
	for i := range judged.entries {
		e := &judged.entries[i]
		e.closed = e.closed || s.ignored(above+e.name, e.kind)
	}
	return judged, true
}

// ruled reports whether any name can be closed by a rule.
func (s *survey) ruled() bool {
	// Below a layer what is secret needs no rule to stay as it is.
	return s.Rules.Ignored != nil || s.Rules.Secret != nil && len(s.Layers) == 0
}

// named reports whether a rule can match one of the entries of a directory.
func (s *survey) named(dir string, entries []entry) bool {
	if s.Rules.Names == nil {
		return true
	}
	names, open := s.Rules.Names(dir)
	return open || slices.ContainsFunc(names, func(name string) bool { return has(entries, name) })
}

// below reports whether a rule can match something in a directory.
func (s *survey) below(dir string) bool { return s.Rules.Below == nil || s.Rules.Below(dir) }

func (s *survey) ignored(p string, kind fs.FileMode) bool {
	if kind.IsDir() {
		p += "/"
	}
	return is(s.Rules.Ignored, p) || is(s.Rules.Secret, p)
}

// undecided are the entries of a directory, to be written as a whole, that
// need a look each: where the scope has all and there are no rules, few.
func (s *survey) undecided(l *listing, at states) []entry {
	if at.all && !s.ruled() {
		return l.notable
	}
	return l.entries
}

func is(rule func(string) bool, path string) bool { return rule != nil && rule(path) }

// lastNames are the names that Protect looks at: those above were looked at before.
func lastNames(dir, name string) string { return path.Join(path.Base(dir), name) }

// suspicious reports whether Protect could know a name. It is asked for every file of a workspace.
func suspicious(dir, name string) bool {
	if name[0] == '.' || name[0]|0x20 == 'o' || strings.EqualFold(path.Base(dir), ".github") { // opencode.json
		return true
	}
	for i := range len(name) {
		if name[i] == '~' || name[i] >= 0x80 {
			return true
		}
	}
	return false
}

// unexamined reports whether what is below a directory is taken as it is: build output, and what package managers
// unpack, which is much and has program configuration of other projects in it.
func (s *survey) unexamined(dir string) bool {
	if s.places[dir] {
		return true
	}
	if len(s.Layers) > 0 {
		return !s.ruled() || !s.below(dir)
	}
	if s.ruled() {
		return false
	}
	switch path.Base(dir) {
	case "node_modules", ".venv", "venv":
		return true
	}
	return false
}

// openTo reports whether an entry may be changed by itself.
func (s *survey) openTo(p string, e entry, at states) bool {
	return !e.closed && (s.matches(at) || s.Touched != nil && s.Touched.Files[p] || is(s.Rules.Unscoped, p))
}
