package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
	"github.com/intentgov/orchestra-mcp/internal/githooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func (a *app) newGitCommand() *cobra.Command {
	return makeGroup(&cobra.Command{Use: "git", Short: "Tie the ledger to git's commits"}, a.newInstallHooksCommand(), a.newGitHookCommand())
}

func (a *app) newInstallHooksCommand() *cobra.Command {
	var remove bool
	cmd := a.operatorCommand(&cobra.Command{
		Use:   "install-hooks [--remove]",
		Short: "Install git hooks: intents and records in commit messages, seals in commits, records in pushes",
		Long: "Install three hooks in this repository. pre-commit seals the ledger if you have a key, and adds seals, and a ledger that\n" +
			"is in the tree, to the commit. commit-msg adds a line `Orchestra-Intent: ID` to the message for each intent whose\n" +
			"recorded changes are in the commit, and a line `Orchestra-Ledger: HASH` that names the records it relies on. pre-push\n" +
			"sends the records along; git fetch brings those of others from now on.\n\n" +
			"Hooks that are there keep running, first, and decide by their exit code; ours never stop a commit. --remove takes\n" +
			"away what was installed, and nothing else.",
	}, a.inWorkspace(func(ctx context.Context, root *os.Root) error {
		change := a.installHooks
		if remove {
			change = func(ctx context.Context, root *os.Root) ([]githooks.Result, error) {
				return githooks.Remove(ctx, root.Name())
			}
		}
		results, err := change(ctx, root)
		if a.json && err == nil {
			a.JSON(results)
			return nil
		}
		for _, r := range results {
			a.printHook(r)
		}
		if _, keyErr := seal.LoadKey(settings.UserDir(a.environ())); err == nil && !remove && keyErr != nil {
			a.Println("You have no key yet, so commits are not sealed: orchestra-mcp seal makes one.")
		}
		return err
	}))
	cmd.Flags().BoolVar(&remove, "remove", false, "take the hooks away again")
	return cmd
}

func (a *app) installHooks(ctx context.Context, root *os.Root) ([]githooks.Result, error) {
	launch, err := a.launch(root.Name())
	if err != nil {
		return nil, err
	}
	if err := launch.Unfit(); err != nil {
		a.tell("warning: the hooks look for %s on the PATH: %v", clientsetup.Program, err)
	}
	if launch.Container() { // outside of which git runs hooks, too
		launch = clientsetup.Launch{}
	}
	results, err := githooks.Install(ctx, root.Name(), launch.Words()...)
	if err != nil {
		return results, err
	}
	// Where the ledger does not travel in the tree, every git fetch brings the records along.
	remote := gitref.Remote(ctx, root)
	if remote == "" || !locate.WillBeBeside(root, true) {
		return results, nil
	}
	return results, gitref.Follow(ctx, root, remote)
}

func (a *app) printHook(r githooks.Result) {
	a.Printf("%s %s", r.Action, r.File)
	if r.Chain != "" {
		a.Printf("; before it runs the hook that was there, now %s", filepath.Base(r.Chain))
	}
	if r.Note != "" {
		a.Printf(" (%s)", r.Note)
	}
	a.Println()
}
