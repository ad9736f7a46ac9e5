package blame

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
)

// git asks the repository around a workspace.
type git struct {
	gitread.Repository
	prefix  string // of the workspace in the work tree: "" or ending in a slash
	shallow bool   // its history was cut off
}

// openGit gives nil where there is no git or no repository.
func openGit(ctx context.Context, dir string) *git {
	g := &git{Repository: gitread.Repository{Dir: dir}}
	said, err := g.Ask(ctx, "rev-parse", "--is-shallow-repository", "--show-prefix")
	if err != nil {
		return nil
	}
	shallow, prefix, _ := strings.Cut(said, "\n")
	g.shallow, g.prefix = strings.TrimRight(shallow, "\r") == "true", strings.TrimRight(prefix, "\r")
	return g
}

// maxBlob bounds a content that is taken from git.
const maxBlob = 64 << 20

// blobs reads objects from one git process. It is started by the first question.
type blobs struct {
	git     *git
	ctx     context.Context
	objects *gitread.Objects
	dead    bool
}

// openBlobs starts the process. It gives nil where there is no git or no repository.
func openBlobs(ctx context.Context, dir string) *blobs {
	g := openGit(ctx, dir)
	if g == nil {
		return nil
	}
	b := &blobs{git: g, ctx: ctx}
	b.start()
	return b
}

func (b *blobs) start() {
	var err error
	b.objects, err = b.git.Objects(b.ctx, "--batch")
	b.dead = err != nil
}

// content gives a blob by its id, or by the form commit:path. What cannot be read is not known.
func (b *blobs) content(name string) ([]byte, bool) {
	if strings.ContainsAny(name, "\n\x00") {
		return nil, false
	}
	if b.objects == nil && !b.dead {
		b.start()
	}
	if b.dead {
		return nil, false
	}
	found, err := b.objects.Open(name)
	if err == nil && (found.Kind != "blob" || found.Size > maxBlob) {
		return nil, false
	}
	content := make([]byte, found.Size)
	if err == nil {
		_, err = io.ReadFull(b.objects, content)
	}
	if err != nil {
		b.close()
		b.dead = true
	}
	return content, err == nil
}

// exists reports whether there is such a blob.
func (b *blobs) exists(name string) bool { _, ok := b.content(name); return ok }

// close ends the process. It says nothing of use at its end.
func (b *blobs) close() {
	if b.objects != nil {
		_ = b.objects.Close()
	}
	b.objects = nil
}

// maxRanges bounds what a command line has to hold.
const maxRanges = 200

// blame tells where git has lines of a revision's version of a file from. Lines are 0-based, and those that were not asked
// for may be missing. Git's work grows with the lines that it has to follow; with moves, it follows them within the
// file and from others too, which costs ten times as much.
func (g *git) blame(ctx context.Context, revision, file string, lines []int, moves bool) (map[int]*Commit, error) {
	if len(lines) == 0 {
		return nil, nil
	}
	ranges := lineRanges(lines)
	if len(ranges) > maxRanges {
		ranges = nil
	}
	return g.blameRanges(ctx, revision, file, ranges, moves)
}

// blameRanges is blame for all lines, if there are no ranges.
func (g *git) blameRanges(ctx context.Context, revision, file string, ranges []span, moves bool) (map[int]*Commit, error) {
	args := []string{"blame", "--porcelain", "-w", "--no-textconv", "--no-progress", "--ignore-revs-file="}
	if moves {
		args = append(args, "-M", "-C")
	}
	for _, r := range ranges {
		args = append(args, fmt.Sprintf("-L%d,%d", r.first+1, r.last))
	}
	out, err := g.Ask(ctx, append(args, revision, "--", file)...)
	if err != nil {
		return nil, err
	}
	return g.parsePorcelain([]byte(out + "\n"))
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
func (g *git) parsePorcelain(out []byte) (map[int]*Commit, error) {
	lines := map[int]*Commit{}
	known := map[string]*Commit{}
	var at *Commit
	origin, final := 0, 0
	for raw := range bytes.Lines(out) {
		line := strings.TrimSuffix(string(raw), "\n")
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
			var err error
			if origin, final, err = lineNumbers(value); err != nil {
				return nil, fmt.Errorf("git blame: %q is no header", line)
			}
			if known[key] == nil {
				known[key] = &Commit{ID: key}
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

// lineNumbers reads the numbers in the commit and in the file that was asked for.
func lineNumbers(header string) (origin, final int, err error) {
	numbers := strings.Fields(header)
	if len(numbers) < 2 {
		return 0, 0, errors.New("two numbers are missing")
	}
	if origin, err = strconv.Atoi(numbers[0]); err != nil {
		return 0, 0, err
	}
	if final, err = strconv.Atoi(numbers[1]); err == nil && (origin < 1 || final < 1) {
		err = errors.New("lines count from 1")
	}
	return origin, final, err
}

func (g *git) detail(c *Commit, key, value string) error {
	switch key {
	case "boundary":
		c.root = true
	case "author":
		c.Author = value
	case "summary":
		c.Summary = value
	case "committer-time":
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fmt.Errorf("git blame: %q is no time", value)
		}
		c.Time = time.Unix(seconds, 0).UTC()
	case "filename":
		name, err := unquote(value)
		if err != nil {
			return fmt.Errorf("git blame: file name %s: %w", value, err)
		}
		c.Path = g.inWorkspace(name)
	}
	return nil
}

// unquote reads a name that git has put in quotes, as a C string.
func unquote(name string) (string, error) {
	if !strings.HasPrefix(name, `"`) {
		return name, nil
	}
	return strconv.Unquote(name)
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
