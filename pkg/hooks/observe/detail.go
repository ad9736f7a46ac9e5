package observe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// describe notes what the list of changes cannot say.
func (r *report) describe(c *snapshot.Change, path string) {
	if c.Shared {
		r.note(detailShared, path)
	}
	for _, content := range []*snapshot.Content{c.Before, c.After} {
		switch {
		case content == nil:
		case content.Kind == snapshot.Link:
			r.note(detailLinks, path)
		case content.Kind == snapshot.Special:
			r.note(detailSpecial, path)
		}
	}
	if c.Before != nil && c.Before.Kind == snapshot.File && unkept(c) {
		r.note(detailNoImage, path)
	}
}

// unkept reports whether the content before is not there and was another.
func unkept(c *snapshot.Change) bool {
	return !c.Before.Known && (c.After == nil || c.After.Hash != c.Before.Hash || c.Before.Hash == "")
}

// Packaged counts the files that changed in a package directory. The fields are in the order that a record's detail has.
type Packaged struct {
	Created  int `json:"created,omitempty" min:"0" doc:"How many files were created."`
	Deleted  int `json:"deleted,omitempty" min:"0" doc:"How many files were deleted."`
	Modified int `json:"modified,omitempty" min:"0" doc:"How many files were modified."`
	// ProgramConfig counts those under names that make other programs run code,
	// as in .vscode: an approval of each would make installing impossible.
	ProgramConfig int `json:"program_config,omitempty" min:"0" doc:"How many of them make other programs run code where the directory is opened by itself."`
}

// packaged counts a change of a package directory, and reports whether it is one. Such a change is in no list.
func (r *report) packaged(c *snapshot.Change) bool {
	place := r.Judge.packaged(c)
	if place == "" {
		return false
	}
	counts, _ := r.detail[DetailPackages].(map[string]*Packaged)
	if counts == nil {
		counts = map[string]*Packaged{}
		r.detail[DetailPackages] = counts
	}
	one := counts[place]
	if one == nil {
		one = &Packaged{}
		counts[place] = one
	}
	count(c.Op, &one.Created, &one.Modified, &one.Deleted)
	if c.Op != change.Deleted && workspace.Protect(c.Path) == workspace.ProtectProgramConfig {
		one.ProgramConfig++
	}
	return true
}

// count adds a path.
func count(op change.Op, created, modified, deleted *int) {
	switch op {
	case change.Created:
		*created++
	case change.Deleted:
		*deleted++
	default:
		*modified++
	}
}

// GitChange is what became of a part of git's history: a name with what it said before and says now, "" where it is not
// there. What is long is named by its hash. The fields are in the order that a record's detail has.
type GitChange struct {
	After  string `json:"after,omitempty" doc:"What it says now, likewise."`
	Before string `json:"before,omitempty" doc:"What it said, or its hash; missing where there was nothing."`
	Path   string `json:"path" doc:"Of .git, workspace-relative."`
}

// maxRef bounds what is quoted of a file of git's, in bytes.
const maxRef = 512

// gitChange notes a change of git's history.
func (r *report) gitChange(c GitChange) {
	changes, _ := r.detail[DetailGit].([]GitChange)
	if len(changes) < maxNamed {
		r.detail[DetailGit] = append(changes, c)
	}
}

func said(c *snapshot.Content) string {
	switch {
	case c == nil:
		return ""
	case c.Secret:
		return "not read"
	case !c.Known || len(c.Bytes) > maxRef || !utf8.Valid(c.Bytes):
		return cmp.Or(c.Hash, "not read")
	}
	return cmp.Or(strings.TrimSpace(string(c.Bytes)), "empty")
}

// note adds a path to one of the details.
func (r *report) note(key, path string) {
	paths, _ := r.detail[key].([]string)
	if len(paths) < maxNamed && !slices.Contains(paths, path) {
		r.detail[key] = append(paths, path)
	}
}

// Shown is a path as records and results can hold it: what is not UTF-8 is written as \xNN.
func Shown(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	var shown []byte
	for len(path) > 0 {
		r, size := utf8.DecodeRuneInString(path)
		if r == utf8.RuneError && size == 1 {
			shown = fmt.Appendf(shown, "\\x%02x", path[0])
		} else {
			shown = append(shown, path[:size]...)
		}
		path = path[size:]
	}
	return string(shown)
}

func kindOf(c *snapshot.Change) snapshot.Kind {
	if c.After != nil {
		return c.After.Kind
	}
	return c.Before.Kind
}
