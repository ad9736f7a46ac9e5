package snapshot

import "runtime"

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

// enter says whether a name of an area is included, and what area it is if it is a directory.
func (a area) enter(name string) (below area, included bool) {
	switch a {
	case top:
		if name == ".orchestration" {
			return governance, true
		}
		return plain.enter(name)
	case plain:
		if name == ".git" || caseless && len(name) == 4 && foldsToGit(name) {
			return gitDir, true
		}
		return plain, true
	case governance:
		switch name {
		case "state", "cache", "agent_trace.jsonl", "trace", "archive", "intent_map.md":
			return plain, false
		}
		return plain, true
	}
	return a.enterGit(name)
}

// enterGit: what git reads to decide what to run or where to look, what its history is, and nothing else.
func (a area) enterGit(name string) (below area, included bool) {
	switch a {
	case gitAll:
		return gitAll, true
	case gitInfo:
		return gitAll, name == "attributes" || name == "grafts"
	case gitObjectsInfo:
		return gitAll, name == "alternates" || name == "http-alternates"
	case gitObjects:
		return gitObjectsInfo, name == "info"
	case gitRefs:
		return gitAll, name != "remotes"
	case gitRebase:
		return gitAll, name == "git-rebase-todo" || name == "strategy"
	case gitPicks:
		return gitAll, name == "todo" || name == "opts"
	}
	switch name {
	case "hooks":
		return gitAll, true
	case "config", "config.worktree", "commondir", "gitdir":
		return gitAll, true
	case "info":
		return gitInfo, true
	case "objects":
		return gitObjects, true
	case "modules", "worktrees":
		return gitOthers, true
	}
	if a == gitDir {
		switch name {
		case "HEAD", "packed-refs", "shallow", "remotes", "branches":
			return gitAll, true
		case "rebase-merge":
			return gitRebase, true
		case "sequencer":
			return gitPicks, true
		case "refs":
			return gitRefs, true
		}
	}
	if a == gitOthers {
		switch name {
		case "refs", "logs", "lfs", "index", "HEAD", "ORIG_HEAD", "FETCH_HEAD", "packed-refs", "COMMIT_EDITMSG":
			return gitAll, false
		}
		return gitOthers, true
	}
	return gitAll, false
}

// caseless: names that differ in letter case usually name one file.
const caseless = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

func foldsToGit(name string) bool {
	const lower = ".git"
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
