package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/chosen"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// useCommand has the flags of use.
type useCommand struct {
	*app
	branch               string
	terminal, only, none bool
}

// newUseCommand lets a person choose what the tools that clients have of their own work under.
func (a *app) newUseCommand() *cobra.Command {
	c := &useCommand{app: a}
	cmd := a.operatorCommand(&cobra.Command{
		Use:   "use [INTENT]",
		Short: "Choose the intent that clients work under with their own tools",
		Long: `Chooses the intent for the calls that a client makes with its own tools (see setup): for this work tree, for branches by
pattern, or for this terminal, of which the narrowest counts. Without an intent it shows what is chosen. What is chosen is kept in
your own directory. An agent that selects an intent itself, by the code in a refusal, works under that.`,
		Example: "  orchestra-mcp use INT-001\n  orchestra-mcp use INT-002 --branch 'feat/*'\n  orchestra-mcp use --none --terminal",
		Args:    cobra.MaximumNArgs(1),
	}, c.run)
	cmd.ValidArgsFunction = a.completeIntent
	flags := cmd.Flags()
	flags.StringVar(&c.branch, "branch", "", "on branches that match a `PATTERN`, such as 'feat/*'")
	flags.BoolVar(&c.terminal, "terminal", false, "in this terminal")
	flags.BoolVar(&c.only, "only", false, "whatever intent is the only one that can be selected")
	flags.BoolVar(&c.none, "none", false, "choose nothing any more")
	cmd.MarkFlagsMutuallyExclusive("branch", "terminal")
	cmd.MarkFlagsMutuallyExclusive("only", "none")
	return cmd
}

func (c *useCommand) run(_ context.Context, args []string) error {
	dir, err := c.realWorkspace()
	if err != nil {
		return err
	}
	user := settings.UserDir(c.environ())
	if user == "" {
		return errors.New("there is no directory for your own settings: set HOME or XDG_CONFIG_HOME")
	}
	choice := chosen.Choice{Branch: c.branch}
	if c.terminal {
		if choice.Terminal = terminalOf(); choice.Terminal == "" {
			return mistakef("use --terminal: this process has no terminal that could be recognised")
		}
	}
	switch {
	case len(args) == 1 && (c.only || c.none):
		return usageErrorf("use: give an intent, or --only, or --none")
	case len(args) == 1:
		choice.Intent = args[0]
		if err := c.checkIntent(args[0]); err != nil {
			return err
		}
	case c.only:
		choice.Intent = chosen.Only
	case !c.none:
		return c.show(user, dir)
	}
	if err := chosen.Put(user, dir, choice); err != nil {
		return fmt.Errorf("use: %w", err)
	}
	return c.show(user, dir)
}

// checkIntent: what is not declared cannot be chosen.
func (c *useCommand) checkIntent(id string) error {
	return c.withIntents(func(store *intent.Store) error {
		set, err := store.Load()
		if err != nil {
			return err
		}
		if _, is := set.Get(id); !is {
			return mistakef("use: there is no intent %s; orchestra-mcp intents list shows those that there are", id)
		}
		return nil
	})
}

func (c *useCommand) show(user, dir string) error {
	choices, err := chosen.Read(user, dir)
	if err != nil {
		return err
	}
	if choices == nil {
		choices = []chosen.Choice{}
	}
	now, _ := chosen.For(choices, gitdir.New(dir).Branch(), terminalOf())
	c.answer(map[string]any{"workspace": dir, "choices": choices, "now": now.Intent}, func() {
		for _, choice := range choices {
			where := "this work tree"
			switch {
			case choice.Branch != "":
				where = "branches " + choice.Branch
			case choice.Terminal != "":
				where = "terminal " + choice.Terminal
			}
			mark := " "
			if choice == now {
				mark = "*"
			}
			c.Printf("%s %s: %s\n", mark, where, intentNamed(choice.Intent))
		}
		if len(choices) == 0 {
			c.Println("Nothing is chosen: agents select an intent themselves, by the code in the refusal of their first call.")
		}
	})
	return nil
}

func intentNamed(intentID string) string {
	if intentID == chosen.Only {
		return "the only intent that can be selected"
	}
	return intentID
}

func (a *app) realWorkspace() (string, error) {
	dir, err := a.workspaceDir()
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}

// chosenIn tells a server of a workspace what is chosen for a terminal now.
func (a *app) chosenIn(dir string, log func(error)) func(terminal string) (string, bool) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	user, git := settings.UserDir(a.environ()), gitdir.New(real)
	return func(terminal string) (string, bool) {
		choices, err := chosen.Read(user, real)
		if err != nil {
			log(err)
		}
		choice, found := chosen.For(choices, git.Branch(), terminal)
		if !found || choice.Intent != chosen.Only {
			return choice.Intent, choice.Branch != ""
		}
		return onlyIntent(real), true
	}
}

// onlyIntent is the one intent of a workspace that can be selected; "" for none or several.
func onlyIntent(dir string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	set, err := intent.Open(root).Load()
	if err != nil {
		return ""
	}
	only := ""
	for _, in := range set.All() {
		if !set.Selectable(in) {
			continue
		}
		if only != "" {
			return ""
		}
		only = in.ID
	}
	return only
}
