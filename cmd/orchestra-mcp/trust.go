package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func (a *app) newTrustCommand() *cobra.Command {
	var yes bool
	cmd := a.operatorCommand(&cobra.Command{
		Use:   "trust",
		Short: "Let what the workspace's files weaken take effect after you have looked at it",
		Long: `A cloned repository brings files of its own. What they only tighten holds at once; what weakens a default or
starts a program waits until you have run this: settings in config.yaml, unscoped: rules in .intentignore, and
commands.allow and network: allow of intents. It shows what would take effect, and keeps the hash of exactly
this content in your own directory: any change asks again. It is about the files, not about the programs that
they name: look at those too. The verify commands of intents need no trust: they run under the same rules as an
agent's commands.`,
	}, func(context.Context, []string) error { return a.trustWorkspace(yes) })
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "trust without asking")
	return cmd
}

// trustable is one file's content that waits for trust.
type trustable struct {
	hash  string
	lines []string
}

// trustAnswer is the document of `trust --json`.
type trustAnswer struct {
	Waited  []string `json:"waited"`  // what waited for trust, a line each
	Trusted bool     `json:"trusted"` // all that weakens something is trusted now
}

func (a *app) trustWorkspace(yes bool) error {
	dir, err := a.workspaceDir()
	if err != nil {
		return err
	}
	waits, trusted, err := a.trustables(dir)
	if err != nil {
		return err
	}
	answer := trustAnswer{Waited: []string{}, Trusted: len(waits) == 0 || yes}
	for _, t := range waits {
		answer.Waited = append(answer.Waited, t.lines...)
	}
	if !a.json {
		a.List("", "  ", answer.Waited)
	}
	if !answer.Trusted && a.json {
		a.JSON(answer)
		return foundSomething()
	}
	if err := a.agreed(answer.Trusted, "trust", "the files", "Let these take effect?", "Not trusted; nothing was changed."); err != nil {
		return err
	}
	list := settings.TrustList{UserDir: settings.UserDir(a.environ())}
	for _, t := range waits {
		if err := list.Trust(dir, t.hash); err != nil {
			return err
		}
	}
	a.answer(answer, func() {
		switch {
		case len(waits) > 0:
			a.Println("Trusted. A running server takes up intents and ignore rules at its next call, and settings when it is started again.")
		case trusted:
			a.Println(a.Green("What the workspace's files weaken is trusted as it is."))
		default:
			a.Println(a.Green("Nothing in the workspace's files waits for your trust."))
		}
	})
	return nil
}

// trustables returns what waits for trust, exactly as it was read, and whether there is something that has it.
func (a *app) trustables(dir string) (found []trustable, trusted bool, err error) {
	loaded, err := a.loadSettings(dir, nil)
	if err != nil {
		return nil, false, err
	}
	if lines := loaded.Waiting(); len(lines) > 0 {
		found = append(found, trustable{loaded.WorkspaceHash, lines})
	}
	trusted = loaded.WorkspaceTrusted
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, false, fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	if _, err := root.Lstat(".intentignore"); err != nil {
		if err := requireWorkspace(root); err != nil {
			return nil, false, err
		}
	}
	store := intent.Open(root).TrustedBy(a.trusts(dir))
	_, ignoreErr := store.Ignore()
	if _, err := store.Load(); err != nil && !errors.Is(err, intent.ErrNotInitialized) {
		return nil, false, fmt.Errorf("%w; orchestra-mcp intents validate lists all problems", err)
	}
	if ignoreErr != nil {
		return nil, false, ignoreErr
	}
	for _, w := range store.Weakenings() {
		if w.Trusted {
			trusted = true
			continue
		}
		t := trustable{hash: w.Hash}
		for _, e := range w.Entries {
			t.lines = append(t.lines, fmt.Sprintf("%s:%d: %s", w.File, e.Line, e.Text))
		}
		found = append(found, t)
	}
	return found, trusted, nil
}

// trusts asks the operator's list about contents of a workspace. A list that cannot be read trusts nothing.
func (a *app) trusts(dir string) func(hash string) bool {
	return settings.TrustList{UserDir: settings.UserDir(a.environ())}.Of(dir)
}
