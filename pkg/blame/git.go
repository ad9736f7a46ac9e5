package blame

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
)

// Commit is where git has a line from.
type Commit struct {
	ID      string // the whole object id
	Path    string // relative to the workspace; starts with ../ outside of it
	Line    int    // 1-based, in that commit
	Author  string
	Time    time.Time // of the commit
	Summary string

	root     bool     // it has no parents here: nothing in it was anywhere before
	strength strength // of the way from the line as it is now to HEAD
}

// git asks the repository around a workspace.
type git struct {
	gitread.Repository
	prefix  string // of the workspace in the work tree: "" or ending in a slash
	shallow bool   // its history was cut off
}

// openGit gives nil where there is no git or no repository.
func openGit(ctx context.Context, dir string) *git {
	g := &git{Repository: gitread.Repository{Dir: dir}}
	var err error
	if g.prefix, g.shallow, err = g.Place(ctx); err != nil {
		return nil
	}
	return g
}

// maxBlob bounds a content that is taken from git.
const maxBlob = 64 << 20

// Objects gives the contents of git's blobs, from one git process that the first question starts. Not for use by
// several goroutines.
type Objects struct {
	git     *git // nil where there is none
	ctx     context.Context
	objects *gitread.Objects
	dead    bool
}

var _ Contents = (*Objects)(nil).Content

// OpenObjects asks the repository around dir. Where there is none, no content is known.
func OpenObjects(ctx context.Context, dir string) *Objects {
	g := openGit(ctx, dir)
	return &Objects{git: g, ctx: ctx, dead: g == nil}
}

// Content gives a blob by its id. A content over 64 MiB is not known.
func (o *Objects) Content(oid string) ([]byte, bool) {
	if !gitread.IsID(oid) {
		return nil, false
	}
	return o.blob(oid)
}

// start starts the process, if there is none yet.
func (o *Objects) start() {
	if o.objects == nil && !o.dead {
		var err error
		o.objects, err = o.git.Objects(o.ctx, "--batch")
		o.dead = err != nil
	}
}

// blob gives a blob by its id, or by the form commit:path. What cannot be read is not known.
func (o *Objects) blob(name string) ([]byte, bool) {
	if o.start(); o.dead || strings.ContainsAny(name, "\n\x00") {
		return nil, false
	}
	content, err := o.objects.Blob(name, maxBlob)
	if err != nil {
		o.Close()
		o.dead = true
	}
	return content, content != nil
}

// Close ends the process. It says nothing of use at its end.
func (o *Objects) Close() {
	if o.objects != nil {
		_ = o.objects.Close()
	}
	o.objects = nil
}

// maxRanges bounds what a command line has to hold.
const maxRanges = 200

// blame tells where git has lines of HEAD's version of a file from. Lines are 0-based; without any, all are meant, and others
// may come too. Git's work grows with the lines that it has to follow; with moves, it follows them within the file and from
// others too, which costs ten times as much.
func (g *git) blame(ctx context.Context, file string, lines []int, moves bool) (map[int]*Commit, error) {
	args := []string{"blame", "--porcelain", "-w", "--no-textconv", "--no-progress", "--ignore-revs-file="}
	if moves {
		args = append(args, "-M", "-C")
	}
	if ranges := lineRanges(lines); len(ranges) <= maxRanges {
		for _, r := range ranges {
			args = append(args, fmt.Sprintf("-L%d,%d", r.first+1, r.last))
		}
	}
	out, err := g.Ask(ctx, append(args, "HEAD", "--", file)...)
	if err != nil {
		return nil, err
	}
	return g.parsePorcelain(out)
}

// changedIn gives the paths that commits changed, as paths of the workspace; of a commit without parents none, and of a merge
// none either, which it tells of.
func (g *git) changedIn(ctx context.Context, commits []string) (paths []string, merges bool, err error) {
	out, err := g.Ask(ctx, slices.Concat([]string{"log", "--no-walk", "--no-show-signature", "--format=/%P", "--name-only", "-z", "--no-renames", "--min-parents=1"}, commits, []string{"--"})...)
	for said := range strings.SplitSeq(out, "\x00") {
		said = strings.TrimLeft(said, "\n")
		switch parents, is := strings.CutPrefix(said, "/"); {
		case is:
			merges = merges || strings.Contains(parents, " ")
		case said != "":
			paths = append(paths, g.inWorkspace(said))
		}
	}
	return paths, merges, err
}

// lineRanges joins lines that are next to each other.
func lineRanges(lines []int) (ranges []span) {
	for _, n := range slices.Compact(slices.Sorted(slices.Values(lines))) {
		if k := len(ranges) - 1; k >= 0 && ranges[k].last == n {
			ranges[k].last++
		} else {
			ranges = append(ranges, span{n, n + 1})
		}
	}
	return ranges
}

// parsePorcelain reads what git-blame(1) calls the porcelain format: a header line for each line, with the commit's
// details the first time it comes, then the line behind a tab.
func (g *git) parsePorcelain(out string) (map[int]*Commit, error) {
	lines := map[int]*Commit{}
	known := map[string]*Commit{}
	var at *Commit
	origin, final := 0, 0
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "\t") {
			if at == nil {
				return nil, errors.New("git blame: a line came without its commit")
			}
			commit := *at
			commit.Line = origin
			lines[final-1] = &commit
			at = nil
			continue
		}
		key, value, _ := strings.Cut(line, " ")
		if at == nil {
			// The numbers are those in the commit and in the file that was asked for.
			first, rest, _ := strings.Cut(value, " ")
			second, _, _ := strings.Cut(rest, " ")
			origin, _ = strconv.Atoi(first)
			if final, _ = strconv.Atoi(second); origin < 1 || final < 1 {
				return nil, fmt.Errorf("git blame: %q is no header", line)
			}
			if known[key] == nil {
				known[key] = &Commit{ID: strings.Clone(key)} // not to hold all of the answer
			}
			at = known[key]
			continue
		}
		if err := g.detail(at, key, value); err != nil {
			return nil, err
		}
	}
	return lines, nil
}

func (g *git) detail(c *Commit, key, value string) error {
	switch key {
	case "boundary":
		c.root = true
	case "author":
		c.Author = strings.Clone(value)
	case "summary":
		c.Summary = strings.Clone(value)
	case "committer-time":
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fmt.Errorf("git blame: %q is no time", value)
		}
		c.Time = time.Unix(seconds, 0).UTC()
	case "filename":
		if strings.HasPrefix(value, `"`) { // as a C string
			name, err := strconv.Unquote(value)
			if err != nil {
				return fmt.Errorf("git blame: file name %s: %w", value, err)
			}
			value = name
		}
		c.Path = strings.Clone(g.inWorkspace(value))
	}
	return nil
}

// inWorkspace makes a path of the repository one of the workspace.
func (g *git) inWorkspace(name string) string {
	if rest, ok := strings.CutPrefix(name, g.prefix); ok {
		return rest
	}
	return path.Join(strings.Repeat("../", strings.Count(g.prefix, "/")), name)
}

// inRepository is the opposite of inWorkspace.
func (g *git) inRepository(name string) string { return path.Join(g.prefix, name) }
