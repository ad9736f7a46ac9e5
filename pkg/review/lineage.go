package review

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// lineage follows what records did to lines of one file through the commits of the range.
type lineage struct {
	*review
	names  []string // of the file
	given  credits
	undone credits                                    // the later record that did the opposite
	has    func(content []byte) (map[int]bool, error) // for which of the lines a content is as their records left it

	versions map[string]map[int]bool // what has says of blobs
	at       map[string]*atCommit
}

// atCommit is what a commit has of the file.
type atCommit struct {
	blobs map[string]string // by name, where a commit of the range changed it; empty where it took the file away
	lines map[int]presence
}

// presence is what is known of a line at a commit.
type presence struct {
	now, ever bool      // the change of its record stands; it does or did
	clean     bool      // it stands, and a record is the reason
	since     time.Time // of the first commit of which that is so
	out       time.Time // of the commit from which on it did not stand
}

const (
	fewestCommits = 3   // in which a line can come, go and come again
	maxVersions   = 100 // of one file that are looked at
)

// restored gives the lines that stand at HEAD, did not stand in between, and that no record brought back.
func (l *lineage) restored() (lines []int, err error) {
	if len(l.given) == 0 || len(l.undone) == 0 && l.touching() < fewestCommits {
		return nil, nil
	}
	l.versions, l.at = map[string]map[int]bool{}, map[string]*atCommit{}
	for i := range l.commits {
		if err := l.visit(&l.commits[i]); err != nil {
			return nil, err
		}
	}
	head := l.at[l.head.commit]
	if head == nil {
		return nil, nil
	}
	for line := range l.given {
		p, by := head.lines[line], l.undone[line]
		if p.now && !p.clean || p.now && by != nil && by.Time.Before(p.since) {
			lines = append(lines, line)
		}
	}
	return lines, nil
}

func (l *lineage) touching() (n int) {
	for i := range l.commits {
		if len(l.touched(&l.commits[i])) > 0 {
			n++
		}
	}
	return n
}

// is reports whether a path of the repository is one of the file's names.
func (l *lineage) is(path string) bool {
	path, inside := strings.CutPrefix(path, l.prefix)
	return inside && slices.Contains(l.names, path)
}

// touched gives what a commit made of the file under each name that it changed.
func (l *lineage) touched(c *commit) map[string]string {
	blobs := map[string]string{}
	for _, d := range c.changes {
		if l.is(d.oldPath) && d.oldPath != d.newPath {
			blobs[d.oldPath] = ""
		}
		if l.is(d.newPath) {
			blobs[d.newPath] = ""
			if isRegular(d.newMode) {
				blobs[d.newPath] = d.newID
			}
		}
	}
	return blobs
}

// visit finds what a commit has. One that changes nothing here shares what its parent has. A parent that is not of the range
// has none of the lines.
func (l *lineage) visit(c *commit) error {
	var from *atCommit
	if len(c.parents) > 0 {
		from = l.at[c.parents[0]]
	}
	blobs := l.touched(c)
	if len(blobs) == 0 && len(c.parents) < 2 {
		l.at[c.id] = from
		return nil
	}
	here := &atCommit{blobs: map[string]string{}, lines: map[int]presence{}}
	if from != nil {
		maps.Copy(here.blobs, from.blobs)
	}
	maps.Copy(here.blobs, blobs)
	for _, id := range here.blobs {
		if known, err := l.look(id); err != nil {
			return err
		} else if !known {
			l.at[c.id] = from // as if it changed nothing
			return nil
		}
	}
	for line, rec := range l.given {
		here.lines[line] = l.presence(c, here, line, rec)
	}
	l.at[c.id] = here
	return nil
}

// look asks for a version once, and reports whether it is known.
func (l *lineage) look(id string) (known bool, err error) {
	if _, known := l.versions[id]; known || id == "" {
		return true, nil
	}
	content, ok := l.review.blobs.content(id)
	if !ok || len(l.versions) == maxVersions {
		return false, nil
	}
	l.versions[id], err = l.has(content)
	return true, err
}

func (l *lineage) presence(c *commit, here *atCommit, line int, rec *added) presence {
	p := presence{since: c.made}
	if c.made.Before(rec.Time) {
		p.since = c.at // it was amended: its author's time is that of the first form
	}
	for _, id := range here.blobs {
		p.now = p.now || l.versions[id][line]
	}
	p.ever, p.clean = p.now, p.now
	for _, parent := range c.parents {
		was := l.at[parent]
		if was == nil {
			continue
		}
		q := was.lines[line]
		p.ever = p.ever || q.ever
		switch {
		case p.now && q.clean:
			p.clean, p.since = true, q.since
			return p
		case p.now && q.ever && (q.now || !rec.Time.After(q.out)):
			p.clean = false
		case !p.now && q.now:
			p.out = c.made
		case !p.now && q.out.After(p.out):
			p.out = q.out
		}
	}
	return p
}
