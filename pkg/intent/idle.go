package intent

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitignore"
)

// idleGlob is a rule that has matched nothing so far.
type idleGlob struct {
	file string
	rule gitignore.Rule
}

// IdleGlobs warns about plain globs of the ignore files that match nothing in the workspace: the name is mistyped, or an
// intent was meant. Negations, and what `secret:` and `unscoped:` name, may wait for a file. It walks the workspace, without
// .git; a directory that cannot be read is passed over.
func (s *Store) IdleGlobs() []Warning {
	rules, _ := s.Ignore()
	var idle []idleGlob
	for i := range rules.files {
		f := &rules.files[i]
		for _, r := range f.paths {
			bare := slices.ContainsFunc(f.bare, func(id idRule) bool { return id.line == r.Line })
			if !bare && !r.Negated() {
				idle = append(idle, idleGlob{f.name, r})
			}
		}
	}
	_ = fs.WalkDir(durable.Tree(s.root), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case len(idle) == 0:
			return fs.SkipAll
		case err != nil || path == ".git":
			return skip(entry)
		}
		idle = slices.DeleteFunc(idle, func(g idleGlob) bool {
			_, matches := gitignore.List{g.rule}.Match(path, entry.IsDir())
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

func skip(entry fs.DirEntry) error {
	if entry != nil && entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}
