package review

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// landing is what some commits put into their trees, to tell which records they have. One ledger beside the tree holds the
// records of all branches, in the order in which they were made, and what a commit names stands for all before it. So the
// contents alone say which pull request a record is of.
type landing struct {
	blobs map[string]bool  // contents, by their ids
	gone  map[string]bool  // paths in the workspace that were removed
	marks map[[5]byte]bool // of lines that were added
}

// strongWeight is the number of letters and digits from which a line is no longer one of many alike, as for blame.
const strongWeight = 8

func (r *review) landingOf(commits []commit) landing {
	l := landing{map[string]bool{}, map[string]bool{}, map[[5]byte]bool{}}
	marked := map[string]bool{}
	for _, c := range commits {
		for _, d := range c.changes {
			if path, inside := strings.CutPrefix(d.oldPath, r.prefix); inside && (d.newMode == modeNone || d.oldPath != d.newPath) {
				l.gone[path] = true
			}
			if d.newMode == modeNone || l.blobs[d.newID] && d.oldID == d.newID {
				continue
			}
			l.blobs[d.newID] = true
			old := map[string]bool{}
			for _, line := range r.linesOf(d.oldID) {
				old[line] = true
			}
			for _, line := range r.linesOf(d.newID) {
				if !old[line] && !marked[line] && isStrong(line) {
					marked[line] = true
					l.marks[ledger.MarkOf(line).Bare()] = true
				}
			}
		}
	}
	return l
}

func isStrong(line string) bool {
	weight := 0
	for _, c := range line {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			if weight++; weight == strongWeight {
				return true
			}
		}
	}
	return false
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

// reached tells which records lead to what landed, by contents that meet. Records are in order, the oldest first.
func (l *landing) reached(records []*record) map[*record]bool {
	type content struct{ path, id string }
	leads, reached := map[content]bool{}, map[*record]bool{}
	for _, rec := range slices.Backward(records) {
		for _, c := range rec.Changes {
			if c.Op == ledger.OpUnchanged {
				continue
			}
			lands := c.AfterOID != "" && l.blobs[c.AfterOID] || c.After == "" && l.gone[c.Path] || c.From != "" && l.gone[c.From] && l.blobs[c.AfterOID]
			if !lands && !leads[content{c.Path, c.AfterOID}] {
				continue
			}
			reached[rec] = true
			if c.From != "" {
				c.Path = c.From
			}
			leads[content{c.Path, c.BeforeOID}] = true
		}
	}
	return reached
}

// stands counts the lines that a record wrote, as far as their marks are known, and those of them that landed.
func (l *landing) stands(rec *record) (landed, written int) {
	for _, c := range rec.Changes {
		for _, m := range c.Marks {
			if written++; l.marks[m.Bare()] {
				landed++
			}
		}
	}
	return landed, written
}

// candidate is a record that may be of the range.
type candidate struct {
	*record
	based bool // a commit of the base names it, or one after it
	sure  bool // it is of the range, whatever it changed
}

// choose takes the records that the range's commits have: those that lead to a content of theirs, or wrote a line that they
// added, and that did not land in the base before. Of a record that tells neither, it counts what the commits name.
func (r *review) choose(candidates []candidate) ([]*record, error) {
	var all, doubtful []*record
	for _, c := range candidates {
		if !c.sure {
			all = append(all, c.record)
		}
	}
	byTime(all)
	chosen := map[*record]bool{}
	var here landing
	if len(all) > 0 {
		here = r.landingOf(r.commits)
	}
	reached := here.reached(all)
	for _, c := range candidates {
		if c.sure {
			chosen[c.record] = true
			continue
		}
		landed, written := here.stands(c.record)
		chosen[c.record] = reached[c.record] || landed > 0 || written == 0 && !c.based
		if chosen[c.record] && c.based {
			doubtful = append(doubtful, c.record)
		}
	}
	if len(doubtful) > 0 {
		there, err := r.landedInBase(doubtful)
		if err != nil {
			return nil, err
		}
		reached = there.reached(all)
		for _, rec := range doubtful {
			landed, written := there.stands(rec)
			chosen[rec] = !reached[rec] && 2*landed <= written
		}
	}
	var records []*record
	for _, c := range candidates {
		if chosen[c.record] {
			records = append(records, c.record)
		}
	}
	return records, nil
}

// clockSlack is how far the clocks of those who commit and those who record may be apart.
const clockSlack = 24 * time.Hour

// maxPathspecs bounds what a command line has to hold.
const maxPathspecs = 1000

// landedInBase is what the base's commits put into the files of some records since the first of them.
func (r *review) landedInBase(records []*record) (landing, error) {
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
	return r.landingOf(commits), err
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
