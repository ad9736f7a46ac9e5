package observe

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// maxRefs bounds the branches and tags that are looked at before and after a
// git command in a linked work tree, and maxPointer what one can say, in bytes.
const (
	maxRefs    = 20_000
	maxPointer = 8 << 10
)

// gitElsewhere are where git keeps what it knows of a work tree whose .git is a file, and what all work trees share;
// the same for a submodule. Both are "" for a plain repository.
func gitElsewhere(root string) (own, common string) {
	own = gitdir.PointedPlainly(filepath.Join(root, ".git"), "gitdir: ")
	if own == "" {
		return "", ""
	}
	return own, cmp.Or(gitdir.PointedPlainly(filepath.Join(own, "commondir"), ""), own)
}

// treeHistory is what the history of a linked work tree says, which no snapshot
// of the workspace has: by the names that it would have in a plain clone.
type treeHistory struct {
	said  map[string]string
	begun []string // what has the main work tree's git go on with something
}

// lookAtHistory is nil for a plain clone.
func lookAtHistory(root string) *treeHistory {
	own, common := gitElsewhere(root)
	if own == "" || own == common {
		return nil
	}
	h := &treeHistory{said: map[string]string{}}
	h.add(".git/HEAD", filepath.Join(own, "HEAD"))
	for name := range strings.FieldsSeq("packed-refs refs/stash shallow info/grafts") {
		h.add(".git/"+name, filepath.Join(common, name))
	}
	if info, err := os.Lstat(filepath.Join(own, "index")); err == nil {
		h.said[".git/index"] = info.ModTime().String()
	}
	for _, name := range ResumedFiles() {
		h.addWhole(".git/"+name, filepath.Join(own, name))
	}
	for kind := range strings.FieldsSeq("refs/heads refs/tags refs/replace refs/notes") {
		_ = filepath.WalkDir(filepath.Join(common, kind), func(at string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil || len(h.said) > maxRefs:
				return fs.SkipAll
			case entry.Type().IsRegular():
				way, _ := filepath.Rel(common, at)
				h.add(".git/"+filepath.ToSlash(way), at)
			}
			return nil
		})
	}
	for name := range strings.FieldsSeq("MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD BISECT_START rebase-merge rebase-apply sequencer") {
		if _, err := os.Lstat(filepath.Join(common, name)); err == nil {
			h.begun = append(h.begun, filepath.Join(common, name))
		}
	}
	return h
}

// MaxTodo bounds a list of what git is to do, in bytes.
const MaxTodo = 4 << 20

// addWhole adds what is judged by its content; what cannot be read says so by a NUL.
func (h *treeHistory) addWhole(name, at string) {
	if _, err := os.Lstat(at); err != nil {
		return
	}
	text, err := durable.ReadRegular(at, MaxTodo)
	if info, lstatErr := os.Lstat(at); err != nil || lstatErr != nil || !info.Mode().IsRegular() {
		text = []byte{0}
	}
	h.said[name] = string(text)
}

func (h *treeHistory) add(name, at string) {
	info, err := os.Lstat(at)
	switch {
	case err != nil || !info.Mode().IsRegular():
	case info.Size() > maxPointer:
		h.said[name] = fmt.Sprintf("%d bytes, of %v", info.Size(), info.ModTime())
	default:
		text, _ := durable.ReadRegular(at, maxPointer)
		h.said[name] = cmp.Or(strings.TrimSpace(string(text)), "empty")
	}
}

// treeChanges accounts for the history of a linked work tree as a snapshot does for that of a plain clone. What stands
// in the main work tree's place is not held by a mask where nothing was: it is looked for.
func treeChanges(root string) look {
	before := lookAtHistory(root)
	return func(_ context.Context, f *findings) {
		if after := lookAtHistory(root); before != nil && after != nil {
			f.treeChanged(before, after)
		}
	}
}

func (f *findings) treeChanged(before, after *treeHistory) {
	names := maps.Clone(before.said)
	maps.Copy(names, after.said)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, is := before.said[name], after.said[name]
		if was == is {
			continue
		}
		if reason := Resumed(name, was, is, is != "\x00"); is != "" && reason != "" {
			f.charge(name, change.Modified, hooks.History, reason)
		}
		now := GitChange{Path: Shown(name), Before: short(was), After: short(is)}
		if name == ".git/index" {
			now.Before, now.After = "", "written anew"
		}
		f.gitChange(now)
	}
	for _, at := range after.begun {
		if !slices.Contains(before.begun, at) {
			f.charge(at, change.Created, hooks.Outside, "with it the git of the main work tree goes on with a merge or a rebase that nobody began there; this server does not undo it")
		}
	}
}

// short bounds what is quoted of a file of git's.
func short(said string) string {
	if len(said) <= maxRef {
		return said
	}
	return fmt.Sprintf("%d bytes", len(said))
}

// Resumed says what git will run by itself when its user goes on with what a command has left half done (git rebase --continue),
// and did not before; "" if nothing. The name is one in .git, before and after are what it said; after is only believed if known.
func Resumed(name, before, after string, known bool) string {
	const goOn = "git goes on with it where the operator says --continue; end it with git rebase --abort or git cherry-pick --abort"
	file := path.Base(name)
	if !slices.Contains(ResumedFiles(), path.Base(path.Dir(name))+"/"+file) {
		return ""
	}
	if !known {
		return "what it has git do cannot be read, and " + goOn
	}
	strategies := [][]string{{"", after}}
	switch file {
	case "opts":
		strategies = strategySet().FindAllStringSubmatch(after, -1)
		fallthrough
	case "strategy":
		for _, set := range strategies {
			name := strings.TrimSpace(set[1])
			if after != before && name != "" && !shell.Among("ort recursive resolve octopus ours subtree", name) { // git's own; others are programs
				return fmt.Sprintf("it has git run git-merge-%.60s, and %s", name, goOn)
			}
		}
	default:
		was := executed(before)
		for _, line := range executed(after) {
			if !slices.Contains(was, line) {
				return fmt.Sprintf("it has git run %.200q, and %s", line, goOn)
			}
		}
	}
	return ""
}

// ResumedFiles are the files in .git by which git goes on and that can have it run programs.
func ResumedFiles() []string {
	return strings.Fields("rebase-merge/git-rebase-todo rebase-merge/strategy sequencer/todo sequencer/opts")
}

// executed are the commands of a list of things to do.
func executed(todo string) (lines []string) {
	for line := range strings.SplitSeq(todo, "\n") {
		word, rest, _ := strings.Cut(strings.ReplaceAll(strings.Trim(line, " \t\r"), "\t", " "), " ")
		if word == "exec" || word == "x" {
			lines = append(lines, rest)
		}
	}
	return lines
}

var strategySet = lazy.Regexp(`(?im)strategy[ \t]*=([^\n]*)$`)

// resumedBy is Resumed for a change that a snapshot found.
func resumedBy(c *snapshot.Change) string {
	if c.After == nil {
		return ""
	}
	before := ""
	if c.Before != nil && c.Before.Known {
		before = string(c.Before.Bytes)
	}
	return Resumed(c.Path, before, string(c.After.Bytes), c.After.Known && c.After.Kind == snapshot.File)
}
