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
	"sync"

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
	w, err := newWalk(ctx, root, opts)
	if err != nil {
		return Report{}, err
	}
	defer w.close()
	if err := w.run(ctx, opts); err != nil {
		return Report{}, fmt.Errorf("compare the commits: %w", err)
	}
	return w.report, nil
}

// walk is one pass over the commits. Two gits run beside it: one for trees and contents, and one for sizes.
type walk struct {
	repository
	objects   *gitread.Objects
	begins    beginnings
	damages   damages
	files     side // the work tree, or the commit that stands in for it
	opened    *os.File
	workspace *os.Root
	head      string
	shallow   bool
	way       []string          // from the top of the repository to .orchestration
	homes     map[string]string // the tree of .orchestration in commits that come later in the walk
	report    Report
	lines     map[record.Hash]dropped
	seals     map[string]dropped // by name
}

func newWalk(ctx context.Context, root *os.Root, opts Options) (*walk, error) {
	w := &walk{
		repository: repositoryAt(root), workspace: root, homes: map[string]string{}, lines: map[record.Hash]dropped{}, seals: map[string]dropped{},
		damages: damages{}, begins: beginnings{git: gitdir.New(root.Name())},
	}
	if _, err := exec.LookPath("git"); err != nil {
		return nil, fmt.Errorf("%w: git is not installed: %v", ErrNoHistory, err)
	}
	prefix, shallow, err := w.Place(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoHistory, err)
	}
	w.shallow = shallow
	w.way = append(strings.FieldsFunc(prefix, func(r rune) bool { return r == '/' }), segment.Home)
	if w.head, err = w.Ask(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", cmp.Or(opts.Head, "HEAD")+"^{commit}"); err != nil {
		if opts.Head != "" {
			return nil, fmt.Errorf("%s is not a commit that this repository has: %w", opts.Head, err)
		}
		return nil, fmt.Errorf("%w: the branch has no commit yet", ErrNoHistory)
	}
	if w.objects, err = w.Objects(ctx, "--batch"); err == nil {
		w.begins.sizes, err = w.Objects(ctx, "--batch-check")
	}
	switch {
	case err != nil:
		err = fmt.Errorf("run git: %w", err)
	case opts.Head == "":
		w.files, err = w.workTree()
	default:
		var tree string
		if tree, err = w.homeTree(w.head); err == nil {
			w.files, err = w.sideOf(w.head, tree)
		}
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *walk) close() {
	for _, o := range []*gitread.Objects{w.objects, w.begins.sizes} {
		if o != nil {
			o.Close()
		}
	}
	w.opened.Close()
}

func (w *walk) run(ctx context.Context, opts Options) error {
	revisions := []string{"--end-of-options", w.head}
	if opts.Base != "" {
		base, err := w.resolve(ctx, opts.Base)
		if err != nil {
			return err
		}
		revisions = append(revisions, "^"+base)
	}
	if err := w.checkFiles(); err != nil {
		return err
	}
	if err := w.commits(ctx, func(commit string, parents []string) error { return w.commit(ctx, commit, parents) }, revisions...); err != nil {
		return err
	}
	if err := w.dropReturned(ctx, opts); err != nil {
		return err
	}
	if w.shallow {
		w.report.Unproven = append(w.report.Unproven,
			"the clone is shallow: its oldest commits were compared with no parent; fetch the whole history (fetch-depth: 0 in CI, git fetch --unshallow)")
	}
	w.report.Unproven = append(w.report.Unproven, slices.Sorted(maps.Keys(w.damages))...)
	w.listDropped()
	return nil
}

// checkFiles compares the work tree with the commit that is checked out.
func (w *walk) checkFiles() error {
	tree, err := w.homeOf(w.head)
	if err != nil || tree == "" && locate.IsBeside(w.workspace) {
		return err
	}
	if tree == "" {
		w.report.Unproven = append(w.report.Unproven, "the commit that is checked out has no ledger: git can tell nothing of records that were never committed")
		return nil
	}
	old, err := w.sideOf(w.head, tree)
	if err != nil {
		return err
	}
	return w.compare(old, w.files, func() (bool, error) { return false, nil })
}

// commit compares one with each of its parents. Git names children first, so this commit's tree is not needed again.
func (w *walk) commit(ctx context.Context, commit string, parents []string) error {
	w.report.Commits++
	mine, err := w.homeOf(commit)
	if err != nil {
		return err
	}
	delete(w.homes, commit)
	has := sync.OnceValues(func() (side, error) { return w.sideOf(commit, mine) })
	for _, parent := range parents {
		theirs, err := w.homeOf(parent)
		if err != nil {
			return err
		}
		if theirs == mine || theirs == "" {
			continue
		}
		old, err := w.sideOf(parent, theirs)
		if err != nil {
			return err
		}
		now, err := has()
		if err != nil {
			return err
		}
		if err := w.compare(old, now, sync.OnceValues(func() (bool, error) { return w.reverts(ctx, commit, parent) })); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) homeOf(commit string) (string, error) {
	if tree, known := w.homes[commit]; known {
		return tree, nil
	}
	tree, err := w.homeTree(commit)
	if err == nil {
		w.homes[commit] = tree
	}
	return tree, err
}

// compare notes what the one side has and the other has not, an older pair in the place of a newer one. isRevert tells whether
// that takes back a commit.
func (w *walk) compare(old, now side, isRevert func() (bool, error)) error {
	w.report.Compared++
	lines, err := w.missing(old, now)
	if err != nil {
		return err
	}
	for hash, d := range lines {
		if d.reverted, err = isRevert(); err != nil {
			return err
		}
		w.lines[hash] = d
	}
	for name, id := range old.seals {
		if now.seals[name] == id {
			continue
		}
		is, err := isRevert()
		if err != nil {
			return err
		}
		w.seals[name] = dropped{segment: name, id: id, from: old.name, into: now.name, reverted: is && now.seals[name] == ""}
	}
	return nil
}

// dropReturned takes out the dropped lines and seals that are back in the work tree or stand beside it.
func (w *walk) dropReturned(ctx context.Context, opts Options) error {
	before := len(w.lines)
	if err := search(w.files, side{}, w.lines); err != nil {
		return err
	}
	if len(w.lines) > 0 && opts.Head == "" { // a rotation may have moved them since the files were listed
		if err := w.list(w.files, segment.ArchiveDir); err != nil {
			return err
		}
		if err := search(w.files, side{}, w.lines); err != nil {
			return err
		}
	}
	if len(w.lines) > 0 {
		if err := w.linesBeside(ctx, func(hash record.Hash) { delete(w.lines, hash) }); err != nil {
			return err
		}
	}
	w.report.Restored = before - len(w.lines)
	maps.DeleteFunc(w.seals, func(name string, d dropped) bool { return w.files.seals[name] == d.id })
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

// listDropped reports what was dropped, in order and not too much.
func (w *walk) listDropped() {
	problem := func(kind, reverted ledger.ProblemKind, d dropped, record, what, did string) {
		if d.reverted {
			kind = reverted
		}
		w.report.Problems = append(w.report.Problems, ledger.Problem{
			Kind: kind, Segment: d.segment, Line: d.line, Record: record, Detail: fmt.Sprintf("%s has this %s and %s %s it", d.from, what, d.into, did),
		})
	}
	for hash, d := range w.lines {
		if len(w.report.Problems) == maxListed {
			break
		}
		problem(ProblemDropped, ProblemReverted, d, hash.String(), "line", "dropped")
	}
	for _, d := range w.seals {
		problem(ProblemDroppedSeal, ProblemRevertedSeal, d, "", "seal", "dropped or changed")
	}
	slices.SortFunc(w.report.Problems, func(a, b ledger.Problem) int {
		return cmp.Or(strings.Compare(a.Segment, b.Segment), a.Line-b.Line, strings.Compare(a.Record, b.Record))
	})
	if more := len(w.lines) - maxListed; more > 0 {
		w.report.Problems = append(w.report.Problems, ledger.Problem{
			Kind: ProblemDropped, Segment: segment.SingleName, Detail: fmt.Sprintf("%d more lines were dropped", more),
		})
	}
}
