package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func (a *app) newTrustCommand() *cobra.Command {
	var yes bool
	var asJSON *bool
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Let what the workspace's files weaken take effect after you have looked at it",
		Long: "A cloned repository brings files of its own. What they only tighten holds at once; what weakens a default or\n" +
			"starts a program waits until you have run this: settings in config.yaml, unscoped: rules in .intentignore, and\n" +
			"commands.allow and network: allow of intents. It shows what would take effect, and keeps the hash of exactly\n" +
			"this content in your own directory: any change asks again. It is about the files, not about the programs that\n" +
			"they name: look at those too. The verify commands of intents need no trust: they run under the same rules as an\n" +
			"agent's commands.",
		Args: cobra.NoArgs,
		RunE: a.operator(func(*cobra.Command, []string) error { return a.trustWorkspace(yes, *asJSON) }),
	}
	asJSON = addJSONFlag(cmd)
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

func (a *app) trustWorkspace(yes, asJSON bool) error {
	dir, err := a.workspaceDir()
	if err != nil {
		return err
	}
	found, trusted, err := a.trustables(dir)
	if err != nil {
		return err
	}
	answer := trustAnswer{Waited: []string{}, Trusted: len(found) == 0 || yes}
	for _, t := range found {
		answer.Waited = append(answer.Waited, t.lines...)
	}
	if !asJSON {
		for _, line := range answer.Waited {
			fmt.Fprintf(a.out, "  %s\n", printable(line))
		}
	}
	switch {
	case asJSON && (len(found) == 0 || !yes):
		if err := printJSON(a.out, answer); err != nil || answer.Trusted {
			return err
		}
		return foundSomething()
	case len(found) == 0 && trusted:
		fmt.Fprintln(a.out, a.styled(styleGreen, "What the workspace's files weaken is trusted as it is."))
		return nil
	case len(found) == 0:
		fmt.Fprintln(a.out, a.styled(styleGreen, "Nothing in the workspace's files waits for your trust."))
		return nil
	case !yes && !a.inTerminal:
		return usageErrorf("trust asks, and the input is not a terminal: add --yes if you have looked at the files")
	case !yes && !a.confirm("Let these take effect?"):
		fmt.Fprintln(a.out, "Not trusted; nothing was changed.")
		return foundSomething()
	}
	list := settings.TrustList{UserDir: settings.UserDir(a.environ())}
	for _, t := range found {
		if err := list.Trust(dir, t.hash); err != nil {
			return err
		}
	}
	if asJSON {
		return printJSON(a.out, answer)
	}
	_, err = fmt.Fprintln(a.out, "Trusted. A running server takes up intents and ignore rules at its next call, and settings when it is started again.")
	return err
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

// confirm asks for a yes; anything else, and no answer, is a no.
func (a *app) confirm(question string) bool {
	ask := newQuestions(a.in, a.out)
	answer := ask.line(question+" yes or no", "no", nil)
	return ask.err == nil && (answer == "yes" || answer == "y")
}
