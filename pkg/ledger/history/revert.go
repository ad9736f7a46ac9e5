package history

import (
	"context"
	"regexp"
	"slices"
	"strings"
)

// revertOf finds in a commit's message what git revert writes there.
var revertOf = regexp.MustCompile(`(?m)^This reverts commit ([0-9a-f]{40}|[0-9a-f]{64})\b`)

// reverts reports whether a commit takes back exactly what another one of its history did, the ledger's part as well as some
// other file. A message alone proves nothing: who drops records of a change that stays could write it too.
func (w *walk) reverts(ctx context.Context, commit, parent string) (bool, error) {
	message, err := w.Ask(ctx, "log", "-1", "--no-show-signature", "--format=%B", "--end-of-options", commit)
	if err != nil {
		return false, err
	}
	said := revertOf.FindStringSubmatch(message)
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
