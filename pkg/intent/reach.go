package intent

import (
	"io/fs"

	"gopkg.in/yaml.v3"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
)

// Reach is what one glob of an intent's owned_scope matches now.
type Reach struct {
	IntentID string `json:"intent_id"`
	Glob     string `json:"glob"`
	Files    int    `json:"files"` // that match, links among them
	// There: something matches, be it an empty directory.
	There bool `json:"-"`
	// Line and Column are the glob's place in active_intents.yaml.
	Line   int `json:"line"`
	Column int `json:"-"`
}

// Reaches tells what each glob of each intent matches, in the order of the file. It walks the workspace, without .git and
// .orchestration, which no scope reaches; a directory that cannot be read is passed over.
func (s *Store) Reaches() ([]Reach, error) {
	if _, err := s.Load(); err != nil {
		return nil, err
	}
	reaches, scopes := s.globs()
	err := fs.WalkDir(durable.Tree(s.root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == ".git" || path == orchdir.Name {
			return skip(entry)
		}
		for i, scope := range scopes {
			if path != "." && scope.Match(path) {
				reaches[i].There = true
				if !entry.IsDir() {
					reaches[i].Files++
				}
			}
		}
		return nil
	})
	return reaches, err
}

// globs are the globs of all intents with their places, and each one compiled.
func (s *Store) globs() (reaches []Reach, scopes []*Scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doc == nil {
		return nil, nil
	}
	for i, in := range s.doc.intents {
		var list *yaml.Node
		if s.doc.nodes[i] != nil {
			_, list = rawField(s.doc.nodes[i], "owned_scope", intentKeys)
		}
		for j, glob := range in.OwnedScope {
			scope, err := CompileScope([]string{glob})
			if err != nil {
				continue // it was compiled when the file was read
			}
			r := Reach{IntentID: in.ID, Glob: glob, Line: in.Line, Column: 1}
			if list != nil && len(list.Content) == len(in.OwnedScope) {
				r.Line, r.Column = list.Content[j].Line, list.Content[j].Column
			}
			reaches, scopes = append(reaches, r), append(scopes, scope)
		}
	}
	return reaches, scopes
}
