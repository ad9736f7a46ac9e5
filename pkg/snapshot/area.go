package snapshot

import (
	"errors"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/placeholder"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// area is a part of the tree with a rule of its own about what is looked at.
type area uint8

const (
	plain      area = iota
	top             // the workspace itself
	governance      // .orchestration of the workspace
	gitDir          // .git, or what stands for one below modules and worktrees
	gitInfo
	gitObjects
	gitObjectsInfo
	gitRefs
	gitOthers // modules and worktrees
	gitRebase // what is under way
	gitPicks
	gitAll // hooks: all of it
)

// enter says whether a name of an area is included, and what area it is if it is a directory. Of git's there is what git
// reads to decide what to run or where to look, what its history is, and nothing else.
func (a area) enter(name string) (below area, included bool) {
	switch a {
	case plain, top:
		switch {
		case a == top && name == ".orchestration":
			return governance, true
		case name == ".git" || caseless && strings.EqualFold(name, ".git"):
			return gitDir, true
		}
		return plain, true
	case governance:
		return plain, !among("state cache agent_trace.jsonl trace archive intent_map.md", name)
	case gitAll:
		return gitAll, true
	case gitInfo:
		return gitAll, among("attributes grafts", name)
	case gitObjectsInfo:
		return gitAll, among("alternates http-alternates", name)
	case gitObjects:
		return gitObjectsInfo, name == "info"
	case gitRefs:
		return gitAll, name != "remotes"
	case gitRebase:
		return gitAll, among("git-rebase-todo strategy", name)
	case gitPicks:
		return gitAll, among("todo opts", name)
	}
	switch name {
	case "hooks", "config", "config.worktree", "commondir", "gitdir":
		return gitAll, true
	case "info":
		return gitInfo, true
	case "objects":
		return gitObjects, true
	case "modules", "worktrees":
		return gitOthers, true
	}
	if a == gitOthers {
		return gitOthers, !among("refs logs lfs index HEAD ORIG_HEAD FETCH_HEAD packed-refs COMMIT_EDITMSG", name)
	}
	switch name {
	case "rebase-merge":
		return gitRebase, true
	case "sequencer":
		return gitPicks, true
	case "refs":
		return gitRefs, true
	}
	return gitAll, among("HEAD packed-refs shallow remotes branches", name)
}

// among reports whether a list of words with blanks between them has a name.
func among(list, name string) bool { return slices.Contains(strings.Fields(list), name) }

// caseless: names that differ in letter case usually name one file.
const caseless = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// without takes out of deltas what the sandbox put where nothing was: it comes and goes with commands.
func (k *Keeper) without(deltas []delta) []delta {
	for i := range deltas {
		d := &deltas[i]
		if k.placeholder(d.path, d.before) {
			d.before = nil
		}
		if k.placeholder(d.path, d.after) {
			d.after = nil
		}
	}
	return slices.DeleteFunc(deltas, func(d delta) bool { return d.before == nil && d.after == nil })
}

// placeholder: there are such only where nobody but the operator may write. It says what the package of that name has it
// say; what is in a directory is told by itself.
func (k *Keeper) placeholder(at string, v *version) bool {
	if v == nil || v.stat.kind() != File && v.stat.kind() != Directory {
		return false
	}
	if placeholder.Temporary(path.Base(at)) {
		return v.stat.kind() == Directory || v.stat.size == 0 || v.stat.size <= placeholder.MaxSize && k.says(at, v, placeholder.Contents()...)
	}
	if workspace.Protect(at) == workspace.ProtectNone || !placeholder.Marked(v.stat.mode, v.stat.size, time.Unix(0, v.stat.mtime)) {
		return false
	}
	content := placeholder.Content(at)
	return v.stat.kind() == Directory || v.stat.size == 0 && content == "" || k.says(at, v, content)
}

// says reports whether a file has one of the contents. What went away before it could be read had one: those of commands
// that run at the same time come and go.
func (k *Keeper) says(at string, v *version, contents ...string) bool {
	if v.digest == nil {
		_, err := k.options.Root.Lstat(at)
		return errors.Is(err, fs.ErrNotExist)
	}
	return slices.ContainsFunc(contents, func(content string) bool {
		return v.digest.hash == string(workspace.HashOf([]byte(content)))
	})
}
