package blame

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// AtCommit blames the file at path, relative to the workspace, as it is in a commit; the working tree is not looked at.
// revision is anything that git reads as a commit. What records that are newer than the commit say is left out. The
// errors are ErrNoCommit, ErrNotAFile, workspace.ErrBinary, those of the ledger, and the context's.
func (w Workspace) AtCommit(ctx context.Context, revision, path string) (Result, error) {
	g := openGit(ctx, w.Root.Name())
	if g == nil {
		return Result{}, fmt.Errorf("%w: %s is not in a git repository", ErrNoCommit, w.Root.Name())
	}
	id, at, err := g.commit(ctx, revision)
	if err != nil {
		return Result{}, err
	}
	q := &question{Workspace: w, ctx: ctx, path: path, revision: id, git: g, blobs: &blobs{git: g, ctx: ctx},
		asked: map[string][]record.Entry{}, others: map[string]*history{}}
	defer q.close()
	content, ok := q.blobs.content(id + ":" + g.inRepository(path))
	if !ok {
		return Result{}, fmt.Errorf("%w: there is no %s in commit %s", ErrNotAFile, path, id)
	}
	q.now = content
	if q.texts, err = textLines(content); err != nil {
		return Result{}, fmt.Errorf("blame %s in %s: %w", path, id, err)
	}
	if err := q.readRecords(); err != nil {
		return Result{}, err
	}
	q.past.records = madeUntil(q.past.records, at)
	lines, err := q.file()
	return Result{lines, q.problems}, err
}

// madeUntil drops the records that are newer than a commit from the end. Commits know their time by the second, and
// clocks differ: what stands in the ledger before a record that is older than the commit is older too.
func madeUntil(records []record.Entry, commit time.Time) []record.Entry {
	for len(records) > 0 && !records[len(records)-1].Time.Before(commit.Add(time.Second)) {
		records = records[:len(records)-1]
	}
	return records
}

// commit gives the id and the time of what git reads as a commit.
func (g *git) commit(ctx context.Context, revision string) (id string, at time.Time, err error) {
	out, err := g.Ask(ctx, "rev-list", "--no-walk", "--format=%ct", "--end-of-options", revision+"^{commit}", "--")
	if err != nil {
		return "", at, fmt.Errorf("%w: git knows no commit %q", ErrNoCommit, revision)
	}
	fields := strings.Fields(out) // commit ID TIME
	if len(fields) != 3 {
		return "", at, fmt.Errorf("%w: git reads %q as several", ErrNoCommit, revision)
	}
	seconds, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return "", at, fmt.Errorf("%w: %q is no time", ErrNoCommit, fields[2])
	}
	return fields[1], time.Unix(seconds, 0), nil
}
