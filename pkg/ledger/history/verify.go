package history

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// What the comparison of commits can find.
const (
	// ProblemDropped: a commit lacks a ledger line that one of its parents has, and it has not come back.
	ProblemDropped ledger.ProblemKind = "dropped_line"
	// ProblemDroppedSeal: a commit lacks a seal that one of its parents has, or has it changed.
	ProblemDroppedSeal ledger.ProblemKind = "dropped_seal"
	// ProblemReverted: a commit that does nothing but take another one back took the lines along that came with that.
	ProblemReverted ledger.ProblemKind = "reverted_line"
	// ProblemRevertedSeal: it took a seal along.
	ProblemRevertedSeal ledger.ProblemKind = "reverted_seal"
)

// Options say what to compare.
type Options struct {
	// Base leaves out the commits that this revision has, as a pull request's target; empty compares all of HEAD's.
	Base string
	// Head is the revision whose commits are compared, itself in place of the work tree; empty is what is checked out.
	Head string
}

// Report is the result of Verify.
type Report struct {
	Commits  int              // looked at
	Compared int              // pairs of commit and parent whose ledgers differ
	Restored int              // lines that were dropped and are back
	Problems []ledger.Problem // by segment and line; of the lines at most 1000, and then one that counts the rest
	Unproven []string         // sentences for people
}

const maxListed = 1000

// Verify compares the commits of the repository that has the workspace. Without git, a repository or a commit the error
// is ErrNoHistory.
func Verify(ctx context.Context, root *os.Root, opts Options) (Report, error) {
	w, err := newWalk(ctx, root, opts, maxHeld)
	if err != nil {
		return Report{}, err
	}
	defer w.close()
	report, err := w.run(ctx, opts)
	if err != nil {
		return Report{}, fmt.Errorf("compare the commits: %w", err)
	}
	return report, nil
}

// walk is one pass over the commits. Four gits run beside it: one for trees, one for each side of a comparison, and one
// for sizes.
type walk struct {
	repository
	trees, before, after *gitread.Objects
	begins               *beginnings
	damages              damages
	files                *workTree
	workspace            *os.Root
	head                 string
	way                  []string          // from the top of the repository to .orchestration
	homes                map[string]string // the tree of .orchestration in commits that come later in the walk
	limit                int
	report               Report
	pending              map[record.Hash]dropped
	unlisted             int                    // dropped lines beyond those in the report
	seals                map[string]droppedSeal // by name
}

func newWalk(ctx context.Context, root *os.Root, opts Options, limit int) (*walk, error) {
	w := &walk{
		repository: repositoryAt(root), workspace: root, limit: limit, homes: map[string]string{}, pending: map[record.Hash]dropped{}, seals: map[string]droppedSeal{},
		damages: damages{}, begins: &beginnings{git: gitdir.New(root.Name())},
	}
	if _, err := exec.LookPath("git"); err != nil {
		return nil, fmt.Errorf("%w: git is not installed: %v", ErrNoHistory, err)
	}
	prefix, err := w.Ask(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHistory, err)
	}
	w.way = append(strings.FieldsFunc(prefix, func(r rune) bool { return r == '/' }), segment.Home)
	if w.head, err = w.Ask(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", cmp.Or(opts.Head, "HEAD")+"^{commit}"); err != nil {
		if opts.Head != "" {
			return nil, fmt.Errorf("%s is not a commit that this repository has: %w", opts.Head, err)
		}
		return nil, fmt.Errorf("%w: the branch has no commit yet", ErrNoHistory)
	}
	for o, mode := range map[**gitread.Objects]string{
		&w.trees: "--batch", &w.before: "--batch", &w.after: "--batch", &w.begins.sizes: "--batch-check",
	} {
		if *o, err = w.Objects(ctx, mode); err != nil {
			w.close()
			return nil, fmt.Errorf("run git: %w", err)
		}
	}
	if opts.Head != "" {
		w.files, err = w.committed()
	} else {
		w.files, err = newWorkTree(root, w.damages)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// committed stands in for the work tree where that does not count.
func (w *walk) committed() (*workTree, error) {
	tree, err := homeTree(w.trees, w.head, w.way)
	if err != nil {
		return nil, err
	}
	c, err := readContent(w.trees, tree)
	if err != nil {
		return nil, err
	}
	return &workTree{side: w.of(w.after, w.head, c)}, nil
}

func (w *walk) close() {
	for _, o := range []*gitread.Objects{w.trees, w.before, w.after, w.begins.sizes} {
		if o != nil {
			o.Close()
		}
	}
	if w.files != nil {
		w.files.close()
	}
}

func (w *walk) run(ctx context.Context, opts Options) (Report, error) {
	revisions := []string{"--end-of-options", w.head}
	if opts.Base != "" {
		base, err := w.resolve(ctx, opts.Base)
		if err != nil {
			return Report{}, err
		}
		revisions = append(revisions, "^"+base)
	}
	shallow, err := w.Ask(ctx, "rev-parse", "--is-shallow-repository")
	if err != nil {
		return Report{}, err
	}
	if err := w.checkFiles(ctx); err != nil {
		return Report{}, err
	}
	if err := w.commits(ctx, func(commit string, parents []string) error { return w.commit(ctx, commit, parents) }, revisions...); err != nil {
		return Report{}, err
	}
	if err := w.reportDropped(ctx); err != nil {
		return Report{}, err
	}
	if shallow == "true" {
		w.report.Unproven = append(w.report.Unproven,
			"the clone is shallow: its oldest commits were compared with no parent; fetch the whole history (fetch-depth: 0 in CI, git fetch --unshallow)")
	}
	w.finish()
	return w.report, nil
}

// checkFiles compares the work tree with the commit that is checked out.
func (w *walk) checkFiles(ctx context.Context) error {
	tree, err := w.homeOf(w.head)
	if err != nil {
		return err
	}
	if tree == "" && locate.IsBeside(w.workspace) {
		return nil
	}
	if tree == "" {
		w.report.Unproven = append(w.report.Unproven, "the commit that is checked out has no ledger: git can tell nothing of records that were never committed")
		return nil
	}
	old, err := readContent(w.trees, tree)
	if err != nil {
		return err
	}
	return w.compare(ctx, w.of(w.before, w.head, old), w.files.side, func() (bool, error) { return false, nil })
}

// commit compares one with each of its parents. Git names children first, so this commit's tree is not needed again.
func (w *walk) commit(ctx context.Context, commit string, parents []string) error {
	w.report.Commits++
	mine, err := w.homeOf(commit)
	if err != nil {
		return err
	}
	delete(w.homes, commit)
	for _, parent := range parents {
		theirs, err := w.homeOf(parent)
		if err != nil {
			return err
		}
		if theirs == mine || theirs == "" {
			continue
		}
		if err := w.pair(ctx, commit, mine, parent, theirs); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) homeOf(commit string) (string, error) {
	if tree, known := w.homes[commit]; known {
		return tree, nil
	}
	tree, err := homeTree(w.trees, commit, w.way)
	if err == nil {
		w.homes[commit] = tree
	}
	return tree, err
}

func (w *walk) pair(ctx context.Context, commit, mine, parent, theirs string) error {
	old, err := readContent(w.trees, theirs)
	if err != nil {
		return err
	}
	now, err := readContent(w.trees, mine)
	if err != nil {
		return err
	}
	asked, is := false, false
	return w.compare(ctx, w.of(w.before, parent, old), w.of(w.after, commit, now), func() (_ bool, err error) {
		if !asked {
			asked = true
			is, err = w.reverts(ctx, commit, parent)
		}
		return is, err
	})
}

// compare notes what the one side has and the other has not. isRevert tells whether that takes back a commit.
func (w *walk) compare(ctx context.Context, old, now side, isRevert func() (bool, error)) error {
	w.report.Compared++
	for name, id := range old.seals {
		if now.seals[name] == id {
			continue
		}
		is, err := isRevert()
		if err != nil {
			return err
		}
		// An older pair takes the place of a newer one: what a seal was at first is what it is.
		w.seals[name] = droppedSeal{id: id, dropped: dropped{segment: name, from: old.name, into: now.name, reverted: is && now.seals[name] == ""}}
	}
	c := comparison{walk: w, old: old, now: now, found: func(hash record.Hash, d dropped) (err error) {
		if d.reverted, err = isRevert(); err != nil {
			return err
		}
		w.pending[hash] = d
		if len(w.pending) < w.limit {
			return nil
		}
		return w.reportDropped(ctx)
	}}
	return c.lines()
}

// reportDropped takes out the dropped lines that are back in the work tree or stand beside it, and reports the others.
func (w *walk) reportDropped(ctx context.Context) error {
	before := len(w.pending)
	if err := search(w.files.side, nil, w.pending); err != nil {
		return err
	}
	if len(w.pending) > 0 && w.files.root != nil { // a rotation may have moved them since the files were listed
		if err := w.files.listArchives(); err != nil {
			return err
		}
		if err := search(w.files.side, nil, w.pending); err != nil {
			return err
		}
	}
	if len(w.pending) > 0 {
		if err := w.linesBeside(ctx, func(hash record.Hash) { delete(w.pending, hash) }); err != nil {
			return err
		}
	}
	w.report.Restored += before - len(w.pending)
	for hash, d := range w.pending {
		if len(w.report.Problems) >= maxListed {
			w.unlisted++
			continue
		}
		kind := ProblemDropped
		if d.reverted {
			kind = ProblemReverted
		}
		w.report.Problems = append(w.report.Problems, ledger.Problem{
			Kind: kind, Segment: d.segment, Line: d.line, Record: hash.String(),
			Detail: fmt.Sprintf("%s has this line and %s dropped it", d.from, d.into),
		})
	}
	clear(w.pending)
	return nil
}

// linesBeside gives the lines of a ledger that stands beside the tree.
func (w *walk) linesBeside(ctx context.Context, visit func(record.Hash)) error {
	if !locate.IsBeside(w.workspace) {
		return nil
	}
	_, err := locate.EachLine(ctx, w.workspace, func(line ledger.RawLine) error {
		visit(line.Hash)
		return nil
	})
	return err
}

// finish puts the findings in order and bounds what is listed.
func (w *walk) finish() {
	for name, d := range w.seals {
		if w.files.seals[name] == d.id {
			continue
		}
		kind := ProblemDroppedSeal
		if d.reverted {
			kind = ProblemRevertedSeal
		}
		w.report.Problems = append(w.report.Problems, ledger.Problem{
			Kind: kind, Segment: d.segment, Detail: fmt.Sprintf("%s has this seal and %s dropped or changed it", d.from, d.into),
		})
	}
	slices.SortFunc(w.report.Problems, func(a, b ledger.Problem) int {
		return cmp.Or(strings.Compare(a.Segment, b.Segment), a.Line-b.Line, strings.Compare(a.Record, b.Record))
	})
	w.report.Unproven = append(w.report.Unproven, slices.Sorted(maps.Keys(w.damages))...)
	if w.unlisted > 0 {
		w.report.Problems = append(w.report.Problems, ledger.Problem{
			Kind: ProblemDropped, Segment: segment.SingleName, Detail: fmt.Sprintf("%d more lines were dropped", w.unlisted),
		})
	}
}
