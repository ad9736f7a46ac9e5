package review

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// landing is what some commits put into their trees, to tell which records they have. One ledger beside the tree holds the
// records of all branches, in the order in which they were made, and what a commit names stands for all before it. So the
// contents alone say which pull request a record is of.
type landing struct {
	blobs map[string]bool  // contents, by their ids
	gone  map[string]bool  // paths in the workspace that were removed
	marks map[[5]byte]bool // of lines that were added
	cut   map[string]bool  // paths in the workspace of which lines were removed
	most  bool             // of a record's lines, most have to be among these
}

func (r *review) landingOf(commits []commit) landing {
	l := landing{blobs: map[string]bool{}, gone: map[string]bool{}, marks: map[[5]byte]bool{}, cut: map[string]bool{}}
	marked := map[string]bool{}
	for _, c := range commits {
		for _, d := range c.changes {
			path, inside := strings.CutPrefix(d.oldPath, r.prefix)
			if inside && (d.newMode == modeNone || d.oldPath != d.newPath) {
				l.gone[path] = true
			}
			if d.newMode == modeNone || l.blobs[d.newID] && d.oldID == d.newID {
				continue
			}
			l.blobs[d.newID] = true
			old, cut := map[string]bool{}, map[string]bool{}
			for _, line := range r.linesOf(d.oldID) {
				old[line], cut[line] = true, true
			}
			for _, line := range r.linesOf(d.newID) {
				delete(cut, line)
				if !old[line] && !marked[line] && record.IsStrong(line) {
					marked[line] = true
					l.marks[record.MarkOf(line).Bare()] = true
				}
			}
			if inside && len(cut) > 0 {
				l.cut[path] = true
			}
		}
	}
	return l
}

// linesOf gives the lines of a blob; none of what has no lines.
func (r *review) linesOf(id string) []string {
	content, ok := r.blobs.content(id)
	if !ok {
		return nil
	}
	text, err := workspace.Decode(content)
	if err != nil {
		return nil
	}
	return edit.Lines(text.String)
}

// records tells which records landed: they left a content that landed, or one from which another of them went on that landed;
// or lines that they wrote did. Records are in order, the oldest first.
func (l *landing) records(all []*added) map[*added]bool {
	type content struct{ path, id string }
	leads, landed := map[content]bool{}, map[*added]bool{}
	for _, rec := range slices.Backward(all) {
		lines, of := l.lines(rec)
		byLines := lines > 0 && (!l.most || 2*lines > of)
		for _, c := range rec.Changes {
			left := content{c.Path, c.After.OID}
			if c.Op == change.Unchanged || !byLines && !l.left(c) && !leads[left] {
				continue
			}
			landed[rec] = true
			if c.From != "" {
				c.Path = c.From
			}
			if c.Before.OID != "" {
				leads[content{c.Path, c.Before.OID}] = true
			}
		}
	}
	return landed
}

// left reports whether what a change left landed.
func (l *landing) left(c record.Change) bool {
	if c.After.Hash == "" {
		return l.gone[c.Path]
	}
	return c.After.OID != "" && l.blobs[c.After.OID]
}

// lines counts the lines that a record wrote, as far as their marks are known, and those of them that landed. What removed
// lines alone counts as one, which landed if lines of that file were removed.
func (l *landing) lines(rec *added) (landed, written int) {
	for _, c := range rec.Changes {
		for _, m := range c.Marks {
			if written++; l.marks[m.Bare()] {
				landed++
			}
		}
		if added, removed := c.Lines(); added == 0 && removed > 0 && c.After.Hash != "" {
			if written++; l.cut[c.Path] {
				landed++
			}
		}
	}
	return landed, written
}

// isMarked reports whether a record says of lines that it wrote them.
func (r *added) isMarked() bool {
	return slices.ContainsFunc(r.Changes, func(c record.Change) bool { return len(c.Marks) > 0 })
}

// choose takes the records that the range's commits have: those that lead to a content of theirs, or wrote a line that they
// added, and that did not land in the base before. Of a record that tells neither, it counts what the commits name.
func (r *review) choose(candidates []*added) ([]*added, error) {
	unsure := slices.DeleteFunc(slices.Clone(candidates), func(rec *added) bool { return rec.sure })
	if len(unsure) == 0 {
		return candidates, nil
	}
	byTime(unsure)
	here := r.landingOf(r.commits)
	landed := here.records(unsure)
	chosen := slices.DeleteFunc(candidates, func(rec *added) bool { return !rec.sure && !landed[rec] && (rec.based || rec.isMarked()) })
	doubtful := slices.DeleteFunc(slices.Clone(chosen), func(rec *added) bool { return !rec.based })
	if len(doubtful) == 0 {
		return chosen, nil
	}
	there, err := r.landedInBase(doubtful)
	landed = there.records(unsure)
	return slices.DeleteFunc(chosen, func(rec *added) bool { return rec.based && landed[rec] }), err
}

// clockSlack is how far the clocks of those who commit and those who record may be apart.
const clockSlack = 24 * time.Hour

// maxPathspecs bounds what a command line has to hold.
const maxPathspecs = 1000

// landedInBase is what the base's commits put into the files of some records since the first of them.
func (r *review) landedInBase(records []*added) (landing, error) {
	since := records[0].Time
	var paths []string
	for _, rec := range records {
		if rec.Time.Before(since) {
			since = rec.Time
		}
		for _, c := range rec.Changes {
			paths = append(paths, c.Path)
		}
	}
	slices.Sort(paths)
	if paths = slices.Compact(paths); len(paths) > maxPathspecs {
		paths = []string{"."}
	}
	selection := append([]string{"--full-history", "--since=" + strconv.FormatInt(max(0, since.Add(-clockSlack).Unix()), 10), "--end-of-options", r.base.commit, "--"}, paths...)
	commits, err := r.git.commits(selection...)
	l := r.landingOf(commits)
	l.most = true // a line can be there by chance
	return l, err
}

// mentions reports whether a line of the ledger has one of the paths, without parsing it: most are of other files.
func mentions(line []byte, paths map[string]bool) bool {
	for key := []byte(`"path":"`); ; {
		i := bytes.Index(line, key)
		if i < 0 {
			return false
		}
		line = line[i+len(key):]
		name, _, _ := bytes.Cut(line, []byte{'"'})
		if paths[string(name)] || bytes.IndexByte(name, '\\') >= 0 {
			return true // an escaped name is left to the parser
		}
	}
}
