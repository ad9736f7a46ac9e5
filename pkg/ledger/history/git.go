package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/mend"
)

// ErrNoHistory: there is no git, no repository, or no commit in it, so there is nothing to compare.
var ErrNoHistory = errors.New("there is no git history to compare")

// repository is the one whose commits are compared.
type repository struct{ gitread.Repository }

func repositoryAt(root *os.Root) repository { return repository{gitread.Repository{Dir: root.Name()}} }

// commits calls visit for each commit of the range with its parents, children first. The selection is that of rev-list;
// what a person gave stands behind --end-of-options.
func (r repository) commits(ctx context.Context, visit func(commit string, parents []string) error, selection ...string) error {
	out, err := r.Ask(ctx, append([]string{"rev-list", "--parents", "--topo-order"}, selection...)...)
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		ids := strings.Fields(line)
		if err := visit(ids[0], ids[1:]); err != nil {
			return err
		}
	}
	return nil
}

func (r repository) resolve(ctx context.Context, revision string) (string, error) {
	commit, err := r.Ask(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("%s is not a commit that this repository has: %w", revision, err)
	}
	return commit, nil
}

// revertOf finds in a commit's message what git revert writes there.
var revertOf = lazy.Regexp(`(?m)^This reverts commit ([0-9a-f]{40}|[0-9a-f]{64})\b`)

// reverts reports whether a commit takes back exactly what another one of its history did, the ledger's part as well as some
// other file. A message alone proves nothing: who drops records of a change that stays could write it too.
func (w *walk) reverts(ctx context.Context, commit, parent string) (bool, error) {
	message, err := w.Ask(ctx, "log", "-1", "--no-show-signature", "--format=%B", "--end-of-options", commit)
	if err != nil {
		return false, err
	}
	said := revertOf().FindStringSubmatch(message)
	if said == nil {
		return false, nil
	}
	line, err := w.Ask(ctx, "rev-list", "--parents", "--no-walk", "--end-of-options", said[1])
	if err != nil {
		return false, ctx.Err() // there is no such commit
	}
	if _, err := w.Ask(ctx, "merge-base", "--is-ancestor", "--end-of-options", said[1], parent); err != nil {
		return false, ctx.Err()
	}
	did, err := w.changes(ctx, parent, commit)
	if err != nil || !w.isBeyondHome(did) {
		return false, err
	}
	for _, before := range strings.Fields(line)[1:] {
		undid, err := w.changes(ctx, said[1], before)
		if err != nil {
			return false, err
		}
		if did == undid {
			return true, nil
		}
	}
	return false, nil
}

// changes are the files that differ between two commits, with their contents' ids on both sides.
func (w *walk) changes(ctx context.Context, from, to string) (string, error) {
	return w.Ask(ctx, "diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--no-ext-diff", "--ignore-submodules=none", "--end-of-options", from, to)
}

// isBeyondHome reports whether changes have a file that is not in .orchestration.
func (w *walk) isBeyondHome(changes string) bool {
	fields := strings.Split(strings.TrimSuffix(changes, "\x00"), "\x00")
	inside := strings.Join(w.way, "/") + "/"
	return slices.ContainsFunc(fields, func(field string) bool {
		return field != "" && !strings.HasPrefix(field, ":") && !strings.HasPrefix(field, inside)
	})
}

// Unmerged lists the files of the ledger that git's index has in several versions, because a merge, a rebase or a
// cherry-pick stopped at them. Without git or a repository there are none.
func Unmerged(ctx context.Context, root *os.Root) ([]mend.Unmerged, error) {
	r := repositoryAt(root)
	if _, err := r.Ask(ctx, "rev-parse", "--git-dir"); err != nil {
		return nil, nil
	}
	listed, err := r.Ask(ctx, "ls-files", "--unmerged", "-z", "--", segment.Home)
	if err != nil {
		return nil, fmt.Errorf("look for unmerged files: %w", err)
	}
	var found []mend.Unmerged
	for _, stage := range []struct{ number, name string }{
		{"2", "our version"}, {"3", "their version"}, {"1", "the common ancestor's version"}, // last what both may have taken out
	} {
		for item := range strings.SplitSeq(listed, "\x00") {
			about, file, _ := strings.Cut(item, "\t")
			fields := strings.Fields(about) // mode, id, stage
			name, inside := strings.CutPrefix(file, segment.Home+"/")
			if !inside || len(fields) != 3 || !strings.HasPrefix(fields[0], "100") || fields[2] != stage.number {
				continue
			}
			i := slices.IndexFunc(found, func(u mend.Unmerged) bool { return u.Segment == name })
			if i < 0 {
				i, found = len(found), append(found, mend.Unmerged{Segment: name})
			}
			found[i].Sides = append(found[i].Sides, mend.Side{
				Name: stage.name + " of " + file,
				Open: func() (io.ReadCloser, error) { return r.blob(ctx, fields[1]) },
			})
		}
	}
	return found, nil
}

// blob reads one object; closing it ends git.
func (r repository) blob(ctx context.Context, id string) (io.ReadCloser, error) {
	o, err := r.Objects(ctx, "--batch")
	if err != nil {
		return nil, err
	}
	found, err := o.Open(id)
	if err == nil && found.Kind != "blob" {
		err = errors.New("the object " + id + " is not at hand")
	}
	if err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}
