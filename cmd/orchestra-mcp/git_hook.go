package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/githooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/trailer"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// newGitHookCommand is what the hooks run. It is for agents' commits too, and no failure of it stops a commit: it warns.
func (a *app) newGitHookCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "hook pre-commit|commit-msg|pre-push [ARGUMENT]...",
		Short:     "What the installed git hooks run",
		Hidden:    true,
		Args:      cobra.MinimumNArgs(1),
		ValidArgs: githooks.Hooks(),
		RunE: coded(func(ctx context.Context, args []string) error {
			var err error
			switch {
			case args[0] == "pre-commit":
				err = a.inRepository(ctx, a.preCommit)
			case args[0] == "commit-msg" && len(args) == 2:
				err = a.inRepository(ctx, func(ctx context.Context, root *os.Root, r trailer.Repository) error {
					return commitMessage(ctx, root, r, args[1])
				})
			case args[0] == "pre-push" && len(args) == 3:
				err = a.prePush(ctx, args[1], args[2])
			default:
				return usageErrorf("git hook: %q is not a hook of ours with its arguments", strings.Join(args, " "))
			}
			if err != nil {
				a.warn("the %s hook let git go on, but: %s", args[0], printer.Lines(err.Error()))
			}
			return nil
		}),
	}
}

// inRepository opens the workspace of the commit that is being made, and tells in which repository it is.
func (a *app) inRepository(ctx context.Context, body func(context.Context, *os.Root, trailer.Repository) error) error {
	return a.withWorkspace(func(root *os.Root) error {
		repository, err := a.repositoryAround(ctx, root.Name())
		if err != nil {
			return err
		}
		return body(ctx, root, repository)
	})
}

func (a *app) repositoryAround(ctx context.Context, workspace string) (trailer.Repository, error) {
	current, err := a.workDir()
	if err != nil {
		return trailer.Repository{}, err
	}
	top, err := gitOutput(ctx, current, "rev-parse", "--show-toplevel")
	if err != nil {
		return trailer.Repository{}, err
	}
	if top, err = filepath.EvalSymlinks(strings.TrimSpace(top)); err != nil {
		return trailer.Repository{}, err
	}
	if workspace, err = filepath.EvalSymlinks(workspace); err != nil {
		return trailer.Repository{}, err
	}
	rel, err := filepath.Rel(top, workspace)
	if err != nil || !filepath.IsLocal(rel) {
		return trailer.Repository{}, fmt.Errorf("the workspace %s is not in the repository %s", workspace, top)
	}
	if rel == "." {
		return trailer.Repository{Dir: top}, nil
	}
	return trailer.Repository{Dir: top, Prefix: filepath.ToSlash(rel) + "/"}, nil
}

// gitOutput runs the user's own git with the environment that a hook has.
func gitOutput(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(exit.Stderr)))
	}
	return string(out), err
}

func commitMessage(ctx context.Context, root *os.Root, repository trailer.Repository, file string) error {
	intents, err := trailer.Staged(ctx, root, repository)
	if err != nil {
		return err
	}
	if file, err = filepath.Abs(file); err != nil {
		return err
	}
	var trailers []trailer.Trailer
	for _, intent := range intents {
		trailers = append(trailers, trailer.Trailer{Key: trailer.Key, Value: intent})
	}
	heads, err := namedHeads(ctx, root, len(intents) > 0)
	for _, head := range heads {
		trailers = append(trailers, trailer.Trailer{Key: gitref.TrailerKey, Value: head})
	}
	return errors.Join(err, trailer.Add(ctx, repository, file, trailers))
}

// maxNamedHeads bounds the lines that a message gets. A ledger has several heads only until its next record.
const maxNamedHeads = 8

// namedHeads are what a commit with recorded changes relies on, where the ledger does not come with it.
func namedHeads(ctx context.Context, root *os.Root, recorded bool) ([]string, error) {
	if !recorded || !locate.IsBeside(root) {
		return nil, nil
	}
	heads, err := locate.Heads(ctx, root)
	if err == nil && len(heads) > maxNamedHeads {
		err = fmt.Errorf("the ledger has %d heads, more than a message can name; the next record joins them", len(heads))
	}
	if err != nil {
		return nil, err
	}
	return records(heads, record.Hash.String), nil
}

// preCommit makes the commit carry its own records: it seals, and stages what git tracks of the ledger.
func (a *app) preCommit(ctx context.Context, root *os.Root, repository trailer.Repository) error {
	// git commit PATH works on an index of its own, and would leave what a hook adds to it undone in the real one.
	if index, _ := a.lookup("GIT_INDEX_FILE"); strings.HasPrefix(filepath.Base(index), "next-index-") {
		return nil
	}
	carries, err := carriesLedger(ctx, repository)
	if err != nil || !carries {
		return err
	}
	sealErr := a.sealForCommit(ctx, root)
	return errors.Join(sealErr, stageLedger(ctx, root, repository))
}

// ledgerFiles are what a commit carries, relative to the workspace.
func ledgerFiles() []string {
	return []string{".orchestration/agent_trace.jsonl", ".orchestration/trace", ".orchestration/archive", ".orchestration/seals"}
}

// carriesLedger: something is staged, or a merge is under way, and git tracks the ledger. Without the first, staging would
// turn a commit that git gives up into one of the ledger alone.
func carriesLedger(ctx context.Context, r trailer.Repository) (bool, error) {
	tracked, err := gitOutput(ctx, r.Dir, append([]string{"--literal-pathspecs", "ls-files", "-z", "--"}, withPrefix(r, ledgerFiles())...)...)
	if err != nil || tracked == "" {
		return false, err
	}
	if _, err := gitOutput(ctx, r.Dir, "rev-parse", "--verify", "--quiet", "MERGE_HEAD"); err == nil {
		return true, nil
	}
	_, err = gitOutput(ctx, r.Dir, "diff", "--cached", "--quiet", "--no-ext-diff")
	if exit, failed := errors.AsType[*exec.ExitError](err); failed && exit.ExitCode() == 1 {
		return true, nil
	}
	return false, err
}

func withPrefix(r trailer.Repository, names []string) []string {
	full := make([]string, len(names))
	for i, name := range names {
		full[i] = r.Prefix + name
	}
	return full
}

// sealForCommit seals if the user has a key; who has none made no decision to seal.
func (a *app) sealForCommit(ctx context.Context, root *os.Root) error {
	if a.governed() {
		return errors.New("it is not sealed: it was started by a command of a governed server")
	}
	dir := settings.UserDir(a.environ())
	key, err := seal.LoadKey(dir)
	if errors.Is(err, seal.ErrNoKey) {
		return nil
	}
	if err == nil {
		err = outside(root, dir)
	}
	if err == nil {
		_, err = seal.Create(ctx, root, key, seal.CreateOptions{Now: a.now, Elsewhere: history.Elsewhere(root)})
	}
	if err == nil || errors.Is(err, seal.ErrNothingToSeal) {
		return nil
	}
	return fmt.Errorf("it is not sealed: %w", err)
}

func stageLedger(ctx context.Context, root *os.Root, r trailer.Repository) error {
	var there []string
	for _, name := range ledgerFiles() {
		if _, err := root.Lstat(name); err == nil {
			there = append(there, name)
		}
	}
	if len(there) == 0 {
		return nil
	}
	_, err := gitOutput(ctx, r.Dir, append([]string{"--literal-pathspecs", "add", "--"}, withPrefix(r, there)...)...)
	if err != nil {
		return fmt.Errorf("the ledger is not in it: %w", err)
	}
	return nil
}
