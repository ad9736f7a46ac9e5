package review

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// differences compares two trees, with renames.
func (r repository) differences(from, to string) ([]difference, error) {
	out, err := r.ask("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "-M", "--no-ext-diff", "--ignore-submodules=none", "--end-of-options", from, to)
	if err != nil {
		return nil, err
	}
	found, err := readChanges(out, []commit{{}})
	if err != nil {
		return nil, fmt.Errorf("git diff-tree: %w", err)
	}
	return found[0].changes, nil
}

// commit is one of a history, with what it changed of its first parent.
type commit struct {
	id      string
	parents []string
	made    time.Time // by its author; a rebase leaves it
	at      time.Time
	changes []difference
}

// commits gives those that git log selects, parents before children.
func (r repository) commits(selection ...string) (found []commit, err error) {
	out, err := r.ask(append([]string{"log", "--topo-order", "--reverse", "--diff-merges=first-parent", "-M", "--no-ext-diff", "--no-show-signature", "--raw",
		"--no-abbrev", "--ignore-submodules=none", "-z", "--format=tformat:" + beginCommit + "%H %at %ct %P"}, selection...)...)
	if err != nil {
		return nil, err
	}
	if found, err = readChanges(out, nil); err != nil {
		return nil, fmt.Errorf("git log: %w", err)
	}
	return found, nil
}

// readChanges reads what git prints with -z: heads of commits, and entries that belong to the last commit.
func readChanges(out string, found []commit) ([]commit, error) {
	for fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00"); len(fields) > 0 && fields[0] != ""; {
		if head, begins := strings.CutPrefix(fields[0], beginCommit); begins {
			words := strings.Fields(head)
			if len(words) < 3 {
				return nil, fmt.Errorf("%q is no commit", head)
			}
			found = append(found, commit{id: words[0], parents: words[3:], made: unixTime(words[1]), at: unixTime(words[2])})
			fields = fields[1:]
			continue
		}
		d, rest, err := nextDifference(fields)
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("%q: %w", fields[0], err)
		}
		last := &found[len(found)-1]
		last.changes, fields = append(last.changes, d), rest
	}
	return found, nil
}

// beginCommit is in no field that is not the beginning of a commit: the others begin with a line feed, a colon or in a path.
const beginCommit = "\x01"

// unixTime of what is no time is the beginning of time: a commit may say anything.
func unixTime(seconds string) time.Time {
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		n = 0
	}
	return time.Unix(n, 0)
}

// nextDifference reads one entry of git's raw output, which -z has made fields.
func nextDifference(fields []string) (d difference, rest []string, err error) {
	head := strings.Fields(strings.TrimPrefix(strings.TrimPrefix(fields[0], "\n"), ":"))
	if len(head) != 5 || len(fields) < 2 {
		return d, nil, fmt.Errorf("%q is no entry of a difference", fields[0])
	}
	d = difference{head[0], head[1], head[2], head[3], fields[1], fields[1]}
	fields = fields[2:]
	if strings.HasPrefix(head[4], "R") && len(fields) > 0 {
		d.newPath, fields = fields[0], fields[1:]
	}
	return d, fields, nil
}

// renames gives the old names that files had in the commits of the range, by the new ones. A file that was renamed twice has
// both.
func (r *review) renames() map[string][]string {
	was := map[string][]string{}
	for _, c := range r.commits {
		for _, d := range c.changes {
			if d.oldPath != d.newPath && !slices.Contains(was[d.newPath], d.oldPath) {
				was[d.newPath] = append(was[d.newPath], d.oldPath)
			}
		}
	}
	return was
}
