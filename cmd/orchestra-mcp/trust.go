package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func (a *app) newTrustCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Let the workspace's settings take effect after you have looked at them",
		Long: "A cloned repository brings settings of its own. What they only tighten holds at once; what weakens a default or\n" +
			"starts a program waits until you have run this. It shows what would take effect, and keeps the hash of exactly\n" +
			"this content in your own directory: any change asks again.",
		Args: cobra.NoArgs,
		RunE: a.operator(func(*cobra.Command, []string) error { return a.trustWorkspace(yes) }),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "trust without asking")
	return cmd
}

func (a *app) trustWorkspace(yes bool) error {
	dir, err := a.workspaceDir()
	if err != nil {
		return err
	}
	loaded, err := a.loadSettings(dir, nil)
	if err != nil {
		return err
	}
	waiting := a.showWithheld(loaded)
	switch {
	case loaded.WorkspaceTrusted:
		fmt.Fprintf(a.out, "%s is trusted as it is.\n", scaffold.ConfigFile)
		return nil
	case waiting == 0:
		fmt.Fprintf(a.out, "Nothing in %s waits for your trust.\n", scaffold.ConfigFile)
		return nil
	case !yes && !a.inTerminal:
		return usageErrorf("trust asks, and the input is not a terminal: add --yes if you have looked at the file")
	case !yes && !a.confirm("Let these take effect?"):
		fmt.Fprintln(a.out, "Not trusted; nothing was changed.")
		return foundSomething()
	}
	list := settings.TrustList{UserDir: settings.UserDir(a.environ())}
	if err := list.Trust(dir, loaded.WorkspaceHash); err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, "Trusted. A running server takes it up when it is started again.")
	return err
}

// showWithheld lists what does not hold, and returns how much of it waits for trust.
func (a *app) showWithheld(loaded settings.Loaded) (waiting int) {
	for _, withheld := range loaded.Withheld {
		if withheld.NeedsTrust {
			waiting++
			fmt.Fprintf(a.out, "  %s: %s = %s (%s)\n", printable(withheld.Origin), printable(withheld.Key), printable(withheld.Value), printable(withheld.Reason))
		}
	}
	return waiting
}

// confirm asks for a yes; anything else, and no answer, is a no.
func (a *app) confirm(question string) bool {
	ask := newQuestions(a.in, a.out)
	answer := ask.line(question+" yes or no", "no", nil)
	return ask.err == nil && (answer == "yes" || answer == "y")
}
