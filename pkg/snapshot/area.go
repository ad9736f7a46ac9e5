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
		return plain, !among(name, "state", "cache", "agent_trace.jsonl", "trace", "archive", "intent_map.md")
	case gitAll:
		return gitAll, true
	case gitInfo:
		return gitAll, among(name, "attributes", "grafts")
	case gitObjectsInfo:
		return gitAll, among(name, "alternates", "http-alternates")
	case gitObjects:
		return gitObjectsInfo, name == "info"
	case gitRefs:
		return gitAll, name != "remotes"
	case gitRebase:
		return gitAll, among(name, "git-rebase-todo", "strategy")
	case gitPicks:
		return gitAll, among(name, "todo", "opts")
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
		return gitOthers, !among(name, "refs", "logs", "lfs", "index", "HEAD", "ORIG_HEAD", "FETCH_HEAD", "packed-refs", "COMMIT_EDITMSG")
	}
	switch name {
	case "rebase-merge":
		return gitRebase, true
	case "sequencer":
		return gitPicks, true
	case "refs":
		return gitRefs, true
	}
	return gitAll, among(name, "HEAD", "packed-refs", "shallow", "remotes", "branches")
}

func among(name string, names ...string) bool { return slices.Contains(names, name) }

// caseless: names that differ in letter case usually name one file.
const caseless = runtime.GOOS == "darwin" || runtime.GOOS == "windows"
