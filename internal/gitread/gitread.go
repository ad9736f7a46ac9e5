// Package gitread asks git about the commits and objects of a repository, for who must not be fooled by it.
//
// # Promise
//
// It only reads. Nothing that the repository's configuration, a commit, a graft, a replacement object, or the environment
// of a hook says can change an answer, start a program or fetch anything. What is read through [Objects] is streamed: no
// object is held as a whole.
//
// # Non-promise
//
// Names and revisions are the caller's to put behind --end-of-options. An Objects is for one goroutine.
package gitread

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Repository is the one around a directory.
type Repository struct{ Dir string }

// askTime bounds an answer of Ask. The longest go through a whole history without git's commit graph.
const askTime = 2 * time.Minute

// Command is git with these arguments, kept from everything in the repository that could change what it says.
func (r Repository) Command(ctx context.Context, args ...string) *exec.Cmd {
	args = append([]string{
		"--no-replace-objects", "--literal-pathspecs", "-c", "core.commitGraph=false", "-c", "core.fsmonitor=false",
		"-c", "core.hooksPath=" + os.DevNull, "-c", "core.quotePath=false", "-c", "protocol.allow=never",
	}, args...)
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = r.Dir
	cmd.Env = append(withoutSettings(OutsideHook(os.Environ())), "GIT_GRAFT_FILE="+os.DevNull, "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	cmd.WaitDelay = time.Second
	return cmd
}

// OutsideHook drops the variables by which a hook's or a caller's git would have one that we start look at another
// repository. What the user set with git -c stays.
func OutsideHook(environ []string) []string {
	return without(environ, "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
		"GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_REPLACE_REF_BASE", "GIT_QUARANTINE_PATH")
}

func withoutSettings(environ []string) []string {
	return without(environ, "GIT_CONFIG", "GIT_CONFIG_PARAMETERS", "GIT_ATTR_SOURCE")
}

func without(environ []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(names, name)
	})
}

// Ask runs a git that answers with little and soon, and gives that without the last newline.
func (r Repository) Ask(ctx context.Context, args ...string) (string, error) {
	return r.ask(ctx, nil, args...)
}

// Place tells where in its work tree the directory is, "" or ending in a slash, and whether the history was cut off.
func (r Repository) Place(ctx context.Context) (prefix string, shallow bool, err error) {
	said, err := r.Ask(ctx, "rev-parse", "--is-shallow-repository", "--show-prefix")
	first, prefix, _ := strings.Cut(said, "\n")
	return strings.TrimRight(prefix, "\r"), strings.TrimRight(first, "\r") == "true", err
}

// Known tells of each id whether there is such an object. To ask for one that is not there costs [Objects] a look at the whole
// store each time.
func (r Repository) Known(ctx context.Context, ids []string) (map[string]bool, error) {
	known := make(map[string]bool, len(ids))
	for _, id := range ids {
		known[id] = false
	}
	out, err := r.ask(ctx, strings.NewReader(strings.Join(ids, "\n")+"\n"), "cat-file", "--batch-check=%(objectname)")
	for id := range strings.Lines(out) {
		if id = strings.TrimSuffix(id, "\n"); IsID(id) {
			known[id] = true
		}
	}
	return known, err
}

func (r Repository) ask(ctx context.Context, input io.Reader, args ...string) (string, error) {
	if err := r.Plain(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	cmd := r.Command(ctx, args...)
	cmd.Stdin = input
	out, err := Output(cmd, args[0])
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(out, "\n"), nil
}

// Output runs a git and gives what it printed. An error has the subcommand's name and what git said.
func Output(cmd *exec.Cmd, subcommand string) (string, error) {
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", subcommand, err, strings.TrimSpace(errs.String()))
	}
	return string(out), err
}
