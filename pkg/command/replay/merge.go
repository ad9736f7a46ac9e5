package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// mergeOf gives the tree that git makes of two commits by the history that they have; with conflicts its files have markers.
func (j *Judge) mergeOf(ctx context.Context, ours, theirs string) (tree string, err error) {
	key := [3]string{"", ours, theirs}
	if tree, known := j.merged[key]; known {
		return tree, nil
	}
	out, err := j.ask(ctx, "", "merge-tree", "--write-tree", "-z", "--allow-unrelated-histories", "--end-of-options", ours, theirs)
	if err != nil {
		return "", err
	}
	tree, _, _ = strings.Cut(out, "\x00")
	j.merged[key] = tree
	return tree, nil
}

// mergeWithBase merges two commits as if a third were all that they have in common: git merge-tree takes a base from
// 2.40 on only, so it gets a history of three commits.
func (j *Judge) mergeWithBase(ctx context.Context, base, ours, theirs string) (tree string, err error) {
	key := [3]string{base, ours, theirs}
	if tree, known := j.merged[key]; known {
		return tree, nil
	}
	root, err := j.commitOf(ctx, base)
	if err != nil {
		return "", err
	}
	var sides [2]string
	for i, side := range []string{ours, theirs} {
		if sides[i], err = j.commitOf(ctx, side, "-p", root); err != nil {
			return "", err
		}
	}
	if tree, err = j.mergeOf(ctx, sides[0], sides[1]); err == nil {
		j.merged[key] = tree
	}
	return tree, err
}

// commitOf makes a commit of another one's tree.
func (j *Judge) commitOf(ctx context.Context, of string, args ...string) (string, error) {
	tree := of
	if of != j.empty {
		tree += "^{tree}"
	}
	out, err := j.ask(ctx, "", slices.Concat([]string{"commit-tree", "-m", of}, args, []string{tree})...)
	return strings.TrimSpace(out), err
}

// entry is what a commit or tree has at a path.
func (j *Judge) entry(ctx context.Context, treeish, path string) (Entry, error) {
	tree, known := j.trees[treeish]
	if !known {
		out, err := j.ask(ctx, "", "ls-tree", "-r", "-z", "--full-tree", treeish)
		if err != nil {
			return Entry{}, err
		}
		tree = map[string]Entry{}
		for line := range strings.SplitSeq(out, "\x00") {
			head, name, ok := strings.Cut(line, "\t")
			words := strings.Fields(head)
			if ok && len(words) == 3 {
				tree[name] = Entry{words[0], words[2]}
			}
		}
		j.trees[treeish] = tree
	}
	return tree[path], nil
}

// blob is the content of a blob of limit bytes at most.
func (j *Judge) blob(ctx context.Context, id string, limit int) (string, error) {
	size, err := j.ask(ctx, "", "cat-file", "-s", id)
	if err != nil {
		return "", err
	}
	var n int
	if _, err := fmt.Sscan(size, &n); err != nil || n > limit {
		return "", fmt.Errorf("%w: the blob %s has %s bytes", errNoAnswer, id, strings.TrimSpace(size))
	}
	return j.ask(ctx, "", "cat-file", "blob", id)
}
