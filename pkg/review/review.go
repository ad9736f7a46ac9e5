package review

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
)

// review is one run.
type review struct {
	ctx        context.Context
	root       *os.Root
	opts       Options
	git        repository
	prefix     string // of the workspace in the repository: empty or with a slash at its end
	scratch    string
	objects    *gitread.Objects
	blobs      *blobs
	snapshots  map[string]*snapshot
	base, head *snapshot
	fork       *snapshot // the merge base

	report  *Report
	commits []commit             // of the range, parents before children
	records []*added             // of the range, as they stand in the ledger
	touched map[string][]*added  // by path, those that changed it
	changed map[string]*File     // by path in the workspace at HEAD
	was     map[string][]string  // by path in the repository, names that git moved the file from in a commit of the range
	ends    map[string][2]string // the blobs of these, in the merge base and at HEAD
	grouped map[grouping]*group
	intents map[string]*Intent

	chain    seal.Report // of the ledger at HEAD
	lines    []record.Hash
	pinned   []record.Hash     // see Inspect
	portable map[string]bool   // the contents that count, nil for all that git has
	ways     map[string]Way    // see Evidence
	olds     map[string]string // the blobs of files that differ, in the merge base, by path in the workspace
}

// Run reviews what the commits of opts.Head add to those of opts.Base in the workspace at root. A report is a result
// whatever it says; the errors are those of this package, and of git.
func Run(ctx context.Context, root *os.Root, opts Options) (*Report, error) {
	r := newReview(ctx, root, opts)
	defer r.close()
	if err := r.open(); err != nil {
		return nil, err
	}
	if err := r.run(); err != nil {
		return nil, fmt.Errorf("review: %w", err)
	}
	return r.report, ctx.Err()
}

func newReview(ctx context.Context, root *os.Root, opts Options) *review {
	r := &review{
		ctx: ctx, root: root, opts: opts, git: repository{gitread.Repository{Dir: root.Name()}, ctx}, snapshots: map[string]*snapshot{},
		touched: map[string][]*added{}, changed: map[string]*File{}, ends: map[string][2]string{}, grouped: map[grouping]*group{}, intents: map[string]*Intent{},
		ways: map[string]Way{}, olds: map[string]string{},
		report: &Report{MinTraced: opts.MinTraced, strict: opts.Strict, Findings: []Finding{}, Files: []File{}, Outside: []string{}, Unproven: []string{}},
	}
	if r.opts.Judge == nil {
		r.opts.Judge = r.judge
	}
	return r
}

// run is the whole of a review. What a later step reports may depend on the records and files of the earlier ones.
func (r *review) run() error {
	diffs, err := r.git.differences(r.fork.commit, r.head.commit)
	if err != nil {
		return err
	}
	if r.commits, err = r.git.commits("--end-of-options", r.head.commit, "^"+r.base.commit); err != nil {
		return err
	}
	if err := r.readRecords(); err != nil {
		return err
	}
	if err := r.traceFiles(diffs); err != nil {
		return err
	}
	if err := r.checkLedger(); err != nil {
		return err
	}
	r.checkGovernance()
	r.checkRecords()
	r.checkClasses()
	r.checkTraced()
	if r.blobs.err != nil {
		return r.blobs.err
	}
	r.finish()
	return nil
}

func (r *review) open() error {
	if _, err := exec.LookPath("git"); err != nil {
		return fmt.Errorf("%w: git is not installed: %v", ErrNoRepository, err)
	}
	prefix, shallow, err := r.git.Place(r.git.ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoRepository, err)
	}
	if shallow { // where it ends, git takes a commit for one without parents
		return fmt.Errorf("%w; fetch the whole history: fetch-depth: 0 of actions/checkout, or git fetch --unshallow", ErrShallow)
	}
	r.prefix, r.report.Workspace = prefix, strings.TrimSuffix(prefix, "/")
	base, head, fork, err := r.revisions()
	if err != nil {
		return err
	}
	if r.objects, err = r.git.Objects(r.ctx, "--batch"); err != nil {
		return fmt.Errorf("run git: %w", err)
	}
	r.blobs = &blobs{objects: r.objects, known: map[string][]byte{}}
	if r.scratch, err = os.MkdirTemp("", "orchestra-gate-"); err != nil {
		return err
	}
	for _, want := range []struct {
		into   **snapshot
		commit string
	}{{&r.base, base}, {&r.fork, fork}, {&r.head, head}} {
		if r.snapshots[want.commit] == nil {
			if r.snapshots[want.commit], err = r.snapshot(want.commit, r.scratch); err != nil {
				return err
			}
		}
		*want.into = r.snapshots[want.commit]
	}
	if err := r.bringLedgers(); err != nil {
		return err
	}
	r.report.Base, r.report.MergeBase, r.report.Head = base, fork, head
	if !slices.ContainsFunc([]*snapshot{r.base, r.fork, r.head}, (*snapshot).governed) {
		return fmt.Errorf("%w: neither %s nor %s has %s, so there was nothing to judge; begin with orchestra-mcp init, or give --workspace DIR",
			ErrNotGoverned, short(base), short(head), r.inRepository(home))
	}
	return nil
}

// revisions finds the commits.
func (r *review) revisions() (base, head, fork string, err error) {
	if base, err = r.git.commit(r.opts.Base); err != nil {
		return "", "", "", fmt.Errorf("%q is %w; fetch it: fetch-depth: 0 of actions/checkout, or git fetch origin BRANCH", r.opts.Base, ErrUnknownRevision)
	}
	if head, err = r.git.commit(cmp.Or(r.opts.Head, "HEAD")); err != nil {
		return "", "", "", fmt.Errorf("%q is %w", cmp.Or(r.opts.Head, "HEAD"), ErrUnknownRevision)
	}
	all, err := r.git.ask("merge-base", "--all", base, head)
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed) && failed.ExitCode() == 1:
		return "", "", "", fmt.Errorf("%w: %s and %s", ErrUnrelated, short(base), short(head))
	case err != nil:
		return "", "", "", err
	}
	forks := strings.Fields(all)
	if len(forks) > 1 {
		r.unproven("the branches were merged crosswise and have %d merge bases; the files were compared with %s alone", len(forks), short(forks[0]))
	}
	count, err := r.git.ask("rev-list", "--count", head, "^"+base)
	if err != nil {
		return "", "", "", err
	}
	if r.report.Commits, err = strconv.Atoi(count); err == nil && r.report.Commits == 0 {
		return "", "", "", fmt.Errorf("%w: %s has no commit that %s has not, so there was nothing to judge", ErrEmptyRange, short(head), short(base))
	}
	return base, head, forks[0], err
}

func (r *review) close() {
	for _, s := range r.snapshots {
		s.root.Close()
	}
	if r.objects != nil {
		r.objects.Close()
	}
	if r.scratch != "" {
		os.RemoveAll(r.scratch)
	}
}

func (r *review) unproven(format string, args ...any) {
	if sentence := fmt.Sprintf(format, args...); !slices.Contains(r.report.Unproven, sentence) {
		r.report.Unproven = append(r.report.Unproven, sentence)
	}
}

// inRepository makes a path of the workspace one of the repository.
func (r *review) inRepository(path string) string { return r.prefix + path }

// finish puts the report in order.
func (r *review) finish() {
	r.flushGroups()
	rep := r.report
	sortFindings(rep.Findings)
	for _, id := range slices.Sorted(maps.Keys(r.intents)) {
		slices.Sort(r.intents[id].Models)
		rep.Intents = append(rep.Intents, *r.intents[id])
	}
	if rep.Intents == nil {
		rep.Intents = []Intent{}
	}
	rep.Passed = rep.Count("", Error) == 0 && !(r.opts.Strict && rep.Count("", Warning) > 0)
}
