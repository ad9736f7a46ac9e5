package replay

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/gitread"
)

// Judge tells what is explained. It is for one goroutine and one state of the repository.
type Judge struct {
	dir      string                 // the scratch repository
	empty    string                 // the id of the empty tree
	explains []string               // commits that are explained, with all that they come of
	allowed  func(path string) bool // what the agent's law lets it change; relative to the top of the work tree
	*seen
	bad     map[string]map[string]bool // commits that were looked at, with their unexplained paths
	looking map[string]bool            // commits that are being looked at
	authors map[string][]commit
}

// seen is what git has said, whatever is allowed.
type seen struct {
	trusted []string // of what explains, what is there; nil before git was asked
	trees   map[string]map[string]Entry
	merged  map[[3]string]string // trees, by base and the two that were merged
}

// Strict is a judge of the same repository for whom nothing is allowed. What git has said to one of them, the other does not ask.
func (j *Judge) Strict() *Judge {
	strict := *j
	strict.bad, strict.looking, strict.authors = map[string]map[string]bool{}, map[string]bool{}, nil
	strict.allowed = func(string) bool { return false }
	return &strict
}

// Entry is what a tree has at a path; the zero value is nothing.
type Entry struct {
	// Mode is git's: 100644, 100755, 120000, 160000.
	Mode string
	// ID is the blob's.
	ID string
}

// patience bounds one question to git.
const patience = time.Minute

// errNoAnswer is what git's failures are wrapped in.
var errNoAnswer = errors.New("git gave no answer")

// Judge makes a scratch repository in an empty directory, which the caller removes, with the objects of a store and of a layer over it.
func (r *Repository) Judge(scratch string, store Store, trusted []string, allowed func(path string) bool) (*Judge, error) {
	j := &Judge{
		dir: scratch, empty: "4b825dc642cb6eb9a060e54bf8d69288fbee4904", explains: trusted, allowed: allowed,
		seen: &seen{trees: map[string]map[string]Entry{}, merged: map[[3]string]string{}},
		bad:  map[string]map[string]bool{}, looking: map[string]bool{},
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	if r.NewBlobHash(0).Size() != sha1.Size {
		j.empty = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
	}
	objects := []string{filepath.Join(store.Common.Lower, "objects")}
	if layered := filepath.Join(store.Common.Upper, "objects"); store.Common.Upper != "" && store.Common.Find("objects").At == layered {
		objects = []string{layered, objects[0]}
	}
	for _, dir := range objects {
		if strings.ContainsAny(dir, "\n\"#") {
			return nil, fmt.Errorf("the directory %q has a name that git's list of directories cannot take", dir)
		}
	}
	files := map[string]string{"HEAD": "ref: refs/heads/none\n", "config": config, "objects/info/alternates": strings.Join(objects, "\n") + "\n"}
	if shallow, _ := store.Common.Read("shallow", 1<<20); len(shallow) > 0 {
		files["shallow"] = string(shallow)
	}
	err := os.Mkdir(filepath.Join(scratch, "refs"), 0o700)
	for name, content := range files {
		at := filepath.Join(scratch, name)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(at), 0o700)
		}
		if err == nil {
			err = os.WriteFile(at, []byte(content), 0o600)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("make a scratch repository: %w", err)
	}
	return j, nil
}

// ask runs git on the scratch repository, with lines of input; command are the words that need no quotes. An exit of 1 with an output
// is an answer too.
func (j *Judge) ask(ctx context.Context, input []string, command string, args ...string) (out string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	words := strings.Fields(command)
	settings := strings.Fields("--git-dir=. -c core.attributesFile=" + os.DevNull + " -c advice.graftFileDeprecated=false")
	cmd := gitread.Repository{Dir: j.dir}.Command(ctx, slices.Concat(settings, words, args)...)
	cmd.Env = append(cmd.Env, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_COUNT=0", "GIT_ATTR_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x", "GIT_AUTHOR_DATE=@0 +0000", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x", "GIT_COMMITTER_DATE=@0 +0000")
	cmd.Stdin = strings.NewReader(strings.Join(input, "\n") + "\n")
	out, err = gitread.Output(cmd, words[0])
	if err != nil && (cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 || out == "") {
		return "", fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	return out, nil
}

// mergeOf gives the tree that git makes of two commits by the history that they have; with conflicts its files have markers.
func (j *Judge) mergeOf(ctx context.Context, ours, theirs string) (tree string, err error) {
	key := [3]string{"", ours, theirs}
	if tree, known := j.merged[key]; known {
		return tree, nil
	}
	out, err := j.ask(ctx, nil, "merge-tree --write-tree -z --allow-unrelated-histories --end-of-options", ours, theirs)
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
	out, err := j.ask(ctx, nil, "commit-tree", append(args, "-m", of, tree)...)
	return strings.TrimSpace(out), err
}

// entry is what a commit or tree has at a path.
func (j *Judge) entry(ctx context.Context, treeish, path string) (Entry, error) {
	tree, known := j.trees[treeish]
	if !known {
		out, err := j.ask(ctx, nil, "ls-tree -r -z --full-tree", treeish)
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
	size, err := j.ask(ctx, nil, "cat-file -s", id)
	if err != nil {
		return "", err
	}
	var n int
	if _, err := fmt.Sscan(size, &n); err != nil || n > limit {
		return "", fmt.Errorf("%w: the blob %s has %s bytes", errNoAnswer, id, strings.TrimSpace(size))
	}
	return j.ask(ctx, nil, "cat-file blob", id)
}
