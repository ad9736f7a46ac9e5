package undo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/change"
)

const (
	// maxHops bounds how often one file is followed through git's moves.
	maxHops = 16
	// askedAtOnce bounds the paths of one question to git, whose arguments have a bound.
	askedAtOnce = 500
	// gitTime bounds the looking for moves in git's history.
	gitTime = time.Minute
)

// gitMove is where git moved a file.
type gitMove struct {
	to     string
	commit string // "" where it is staged and not committed
}

func (m gitMove) note(from string) string {
	if m.commit == "" {
		return fmt.Sprintf("git moved it from %s, which is staged", from)
	}
	return fmt.Sprintf("git moved it from %s, in commit %.10s", from, m.commit)
}

// gitMoves finds where files are now that are missing at their paths, as git tells it: the commit that removed the path last
// is searched for renames by their contents, or the index for those that are staged. What git does not know, as a file that
// was never committed under its old name, is not found; nor is anything where there is no git.
type gitMoves struct {
	*disk
	repository gitread.Repository
	moved      map[string]gitMove
	staged     map[string]string
	renames    map[string]map[string]string // by commit
}

// findMoves looks for the files of changes.
func (l *lookup) findMoves(ctx context.Context, d *disk, chosen []recorded) (map[string]gitMove, error) {
	missing := map[string]bool{}
	for _, c := range chosen {
		for _, f := range c.files {
			if f.Op == change.Deleted {
				continue
			}
			path, deleted, err := l.follow(c, f.Path, f.line)
			if err != nil {
				return nil, err
			}
			if !deleted && d.missing(path) {
				missing[path] = true
			}
		}
	}
	g := &gitMoves{disk: d, repository: gitread.Repository{Dir: d.Files.Dir()}, moved: map[string]gitMove{}, renames: map[string]map[string]string{}}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	for range maxHops {
		if missing = g.hop(ctx, slices.Sorted(maps.Keys(missing))); len(missing) == 0 {
			break
		}
	}
	var to []string
	for _, m := range g.moved {
		to = append(to, m.to)
	}
	slices.Sort(to)
	return g.moved, l.readHistories(slices.Compact(to))
}

// hop follows each path by one move, and gives those that are missing again.
func (g *gitMoves) hop(ctx context.Context, paths []string) map[string]bool {
	missing := map[string]bool{}
	for chunk := range slices.Chunk(paths, askedAtOnce) {
		removed := g.removers(ctx, chunk)
		for _, path := range chunk {
			move := gitMove{g.inIndex(ctx)[path], ""}
			if commit := removed[path]; move.to == "" && commit != "" {
				move = gitMove{g.renamed(ctx, commit)[path], commit}
			}
			if _, known := g.moved[path]; known || move.to == "" {
				continue
			}
			g.moved[path] = move
			if g.missing(move.to) {
				missing[move.to] = true
			}
		}
	}
	return missing
}

// removers gives the commit that removed each path last.
func (g *gitMoves) removers(ctx context.Context, paths []string) map[string]string {
	args := append([]string{
		"log", "--format=%x01%H", "-z", "--name-only", "--relative", "--no-renames", "--diff-filter=D", "--no-ext-diff", "--no-show-signature", "HEAD", "--",
	}, paths...)
	out, err := g.repository.Ask(ctx, args...)
	if err != nil {
		return nil
	}
	removed := map[string]string{}
	for _, commit := range strings.Split(out, "\x01") {
		id, names, _ := strings.Cut(commit, "\x00")
		for _, name := range strings.Split(names, "\x00") {
			if name = strings.TrimPrefix(name, "\n"); name != "" && removed[name] == "" {
				removed[name] = id
			}
		}
	}
	return removed
}

// renamed gives the renames of a commit.
func (g *gitMoves) renamed(ctx context.Context, commit string) map[string]string {
	if _, asked := g.renames[commit]; !asked {
		g.renames[commit] = g.differences(ctx, "diff-tree", "--no-commit-id", "-r", "--end-of-options", commit)
	}
	return g.renames[commit]
}

// inIndex gives those that are staged.
func (g *gitMoves) inIndex(ctx context.Context) map[string]string {
	if g.staged == nil {
		g.staged = g.differences(ctx, "diff-index", "--cached", "--end-of-options", "HEAD")
	}
	return g.staged
}

func (g *gitMoves) differences(ctx context.Context, command string, args ...string) map[string]string {
	options := []string{command, "--name-status", "-z", "-M", "--diff-filter=R", "--relative", "--no-ext-diff", "--ignore-submodules=all"}
	renames := map[string]string{}
	out, err := g.repository.Ask(ctx, append(options, args...)...)
	if err != nil {
		return renames
	}
	// Each is a status, such as R097, the old name and the new one.
	for fields := strings.Split(out, "\x00"); len(fields) >= 3; fields = fields[3:] {
		renames[fields[1]] = fields[2]
	}
	return renames
}
