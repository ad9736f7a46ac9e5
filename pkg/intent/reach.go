package intent

import (
	"fmt"
	"io/fs"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitignore"
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

// Reaches tells what each glob of each intent matches, in the order of the file. It walks the workspace.
func (s *Store) Reaches() ([]Reach, error) {
	if _, err := s.Load(); err != nil {
		return nil, err
	}
	reaches, scopes := s.globs()
	err := s.Walk(".", func(path string, isDir bool) error {
		for i, scope := range scopes {
			if path != "." && scope.Match(path) {
				reaches[i].There = true
				if !isDir {
					reaches[i].Files++
				}
			}
		}
		return nil
	})
	return reaches, err
}

// Walk goes through a directory of the workspace, without .git and .orchestration, which no scope reaches. It gives the
// directory itself first, then what is in it by name, each directory before what is in that. One that cannot be read is passed
// over. An error of visit ends it and is returned; fs.SkipDir and fs.SkipAll mean what they mean to [fs.WalkDir].
func (s *Store) Walk(dir string, visit func(path string, isDir bool) error) error {
	return s.walk(dir, func(path string, isDir bool) error {
		if path == orchdir.Name && isDir {
			return fs.SkipDir
		}
		return visit(path, isDir)
	})
}

// walk is Walk with .orchestration.
func (s *Store) walk(dir string, visit func(path string, isDir bool) error) error {
	return fs.WalkDir(durable.Tree(s.root), dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err == nil && path != ".git":
			return visit(path, entry.IsDir())
		case entry != nil && entry.IsDir():
			return fs.SkipDir
		}
		return nil
	})
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

// IdleGlobs warns about plain globs of the ignore files that match nothing in the workspace: the name is mistyped, or an
// intent was meant. Negations, and what `secret:` and `unscoped:` name, may wait for a file. It walks the workspace.
func (s *Store) IdleGlobs() []Warning {
	rules, _ := s.Ignore()
	type glob struct { // that has matched nothing so far
		file string
		rule gitignore.Rule
	}
	var idle []glob
	for i := range rules.files {
		f := &rules.files[i]
		for _, r := range f.paths {
			bare := slices.ContainsFunc(f.bare, func(id idRule) bool { return id.line == r.Line })
			if !bare && !r.Negated() {
				idle = append(idle, glob{f.name, r})
			}
		}
	}
	_ = s.walk(".", func(path string, isDir bool) error {
		if len(idle) == 0 {
			return fs.SkipAll
		}
		idle = slices.DeleteFunc(idle, func(g glob) bool {
			_, matches := gitignore.List{g.rule}.Match(path, isDir)
			return matches
		})
		return nil
	})
	var warnings []Warning
	for _, g := range idle {
		message := fmt.Sprintf("%s matches nothing in the workspace", g.rule.Text)
		if ValidID(g.rule.Text) {
			message += ", and no intent has this id"
		}
		warnings = append(warnings, Warning{File: g.file, Line: g.rule.Line, Column: 1, Message: message})
	}
	return warnings
}
