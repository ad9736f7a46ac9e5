package observe

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/command/shell"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
)

// Resumed says what git will run by itself when its user goes on with what a command has left half done (git rebase
// --continue), and did not before; "" if nothing. The name is one in .git, before and after are what it said; after is
// only believed if known.
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
		strategies = strategySet.FindAllStringSubmatch(after, -1)
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
	return []string{"rebase-merge/git-rebase-todo", "rebase-merge/strategy", "sequencer/todo", "sequencer/opts"}
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

var strategySet = regexp.MustCompile(`(?im)strategy[ \t]*=([^\n]*)$`)

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
