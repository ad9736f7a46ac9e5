package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/githooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func (a *app) newGitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "git",
		Short: "Tie the ledger to git's commits",
	}
	a.makeGroup(cmd)
	cmd.AddCommand(a.newInstallHooksCommand(), a.newGitHookCommand())
	return cmd
}

func (a *app) newInstallHooksCommand() *cobra.Command {
	var remove bool
	cmd := &cobra.Command{
		Use:   "install-hooks [--remove]",
		Short: "Install git hooks: intents and records in commit messages, seals in commits, records in pushes",
		Long: "Install three hooks in this repository. pre-commit seals the ledger if you have a key, and adds seals, and a ledger that\n" +
			"is in the tree, to the commit. commit-msg adds a line `Orchestra-Intent: ID` to the message for each intent whose\n" +
			"recorded changes are in the commit, and a line `Orchestra-Ledger: HASH` that names the records it relies on. pre-push\n" +
			"sends the records along; git fetch brings those of others from now on.\n\n" +
			"Hooks that are there keep running, first, and decide by their exit code; ours never stop a commit. --remove takes\n" +
			"away what was installed, and nothing else.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "take the hooks away again")
	json := addJSONFlag(cmd)
	cmd.RunE = a.operator(func(cmd *cobra.Command, _ []string) error {
		root, err := a.openWorkspace()
		if err != nil {
			return err
		}
		defer root.Close()
		var results []githooks.Result
		if remove {
			results, err = githooks.Remove(cmd.Context(), root.Name())
		} else {
			results, err = a.installHooks(cmd, root.Name())
		}
		if *json && err == nil {
			return printJSON(a.out, results)
		}
		for _, r := range results {
			a.printHook(r)
		}
		if err == nil && !remove && !a.hasKey() {
			fmt.Fprintln(a.out, "You have no key yet, so commits are not sealed: orchestra-mcp seal makes one.")
		}
		return err
	})
	return cmd
}

func (a *app) installHooks(cmd *cobra.Command, dir string) ([]githooks.Result, error) {
	program, err := a.executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's own path: %w", err)
	}
	if program, err = filepath.Abs(program); err != nil {
		return nil, err
	}
	results, err := githooks.Install(cmd.Context(), dir, program)
	if err != nil {
		return results, err
	}
	return results, followRemote(cmd.Context(), dir)
}

// followRemote has every git fetch bring the records along, where the ledger does not travel in the tree.
func followRemote(ctx context.Context, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	remote := gitref.Remote(ctx, root)
	if remote == "" || !ledger.WillBeBeside(root, true) {
		return nil
	}
	return gitref.Follow(ctx, root, remote)
}

func (a *app) printHook(r githooks.Result) {
	fmt.Fprintf(a.out, "%s %s", r.Action, printable(r.File))
	if r.Chain != "" {
		fmt.Fprintf(a.out, "; before it runs the hook that was there, now %s", printable(filepath.Base(r.Chain)))
	}
	if r.Note != "" {
		fmt.Fprintf(a.out, " (%s)", printable(r.Note))
	}
	fmt.Fprintln(a.out)
}

func (a *app) hasKey() bool {
	_, err := seal.LoadKey(settings.UserDir(a.environ()))
	return err == nil
}
