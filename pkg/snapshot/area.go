package snapshot

import (
	"runtime"
	"slices"
	"strings"
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
