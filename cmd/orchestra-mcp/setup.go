package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// setupFlags are the flags of setup.
type setupFlags struct {
	print, keepReadTools bool
	command              string
}

func (a *app) newSetupCommand() *cobra.Command {
	var flags setupFlags
	cmd := &cobra.Command{
		Use:   "setup " + strings.Join(clientsetup.Names(), "|"),
		Short: "Connect an MCP client, and close its own ways round the gate",
		Long: "Writes this server into the client's configuration, keeping everything else that stands there, and takes the\n" +
			"client's own tools that write files or run commands away, as far as the client lets itself be configured.\n" +
			"It says what stays open. A second run changes nothing.",
		Example:   "  orchestra-mcp setup claude-code\n  orchestra-mcp setup vscode --print",
		ValidArgs: clientsetup.Names(),
		Args:      cobra.ExactArgs(1),
	}
	show := a.run(func(_ *cobra.Command, args []string) error { return a.printSetup(args[0], flags) })
	write := a.operator(func(_ *cobra.Command, args []string) error { return a.setup(args[0], flags) })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if flags.print {
			return show(cmd, args)
		}
		return write(cmd, args)
	}
	cmd.Flags().BoolVar(&flags.print, "print", false, "print what would have to be in each file, and write nothing")
	cmd.Flags().BoolVar(&flags.keepReadTools, "keep-read-tools", false,
		"leave the client its own reading tools; the server then does not know what the agent has seen")
	cmd.Flags().StringVar(&flags.command, "command", "",
		"the `PROGRAM` that the client starts (default: this binary's absolute path); use a name on the PATH to share the files")
	return cmd
}

func (a *app) printSetup(client string, flags setupFlags) error {
	plan, _, err := a.planSetup(client, flags)
	if err != nil {
		return err
	}
	return printPlan(a.out, plan)
}

func (a *app) setup(client string, flags setupFlags) error {
	plan, opts, err := a.planSetup(client, flags)
	if err != nil {
		return err
	}
	if err := plan.Apply(opts.Workspace); err != nil {
		return fmt.Errorf("set up %s: %w", plan.Title, err)
	}
	if err := a.reportPlan(plan, opts.Workspace); err != nil {
		return err
	}
	a.warnIfNotInitialized()
	if plan.Weakened() {
		return foundSomething()
	}
	return nil
}

func (a *app) planSetup(client string, flags setupFlags) (*clientsetup.Plan, clientsetup.Options, error) {
	opts, err := a.setupOptions(flags)
	if err != nil {
		return nil, opts, err
	}
	plan, err := clientsetup.New(client, opts)
	if errors.Is(err, clientsetup.ErrUnknownClient) {
		return nil, opts, usageErrorf("setup: %w", err)
	}
	if err != nil {
		return nil, opts, fmt.Errorf("set up %w", err)
	}
	return plan, opts, nil
}

// warnIfNotInitialized says so when the server that was set up would refuse every change.
func (a *app) warnIfNotInitialized() {
	_ = a.withIntents(func(store *intent.Store) error {
		if !store.Initialized() {
			fmt.Fprintln(a.err, "warning: this workspace has no intents yet, so nothing can be changed through the server: run orchestra-mcp init")
		}
		return nil
	})
}

func (a *app) setupOptions(flags setupFlags) (clientsetup.Options, error) {
	workspace, err := a.workspaceDir()
	if err != nil {
		return clientsetup.Options{}, err
	}
	home, err := a.home()
	if err != nil {
		return clientsetup.Options{}, fmt.Errorf("find your home directory: %w; set HOME", err)
	}
	command := flags.command
	if command == "" {
		if command, err = a.executable(); err != nil {
			return clientsetup.Options{}, fmt.Errorf("find the path of this binary: %w; give it with --command", err)
		}
	}
	return clientsetup.Options{
		Workspace: workspace, Command: command, Home: home, OS: a.os, LookupEnv: a.lookup, KeepReadTools: flags.keepReadTools,
	}, nil
}

// printPlan shows what each file has to hold, for somebody who writes it by hand.
func printPlan(out io.Writer, plan *clientsetup.Plan) error {
	var text strings.Builder
	for _, file := range plan.Files {
		fmt.Fprintf(&text, "# %s\n%s\n", printable(file.Path), strings.TrimRight(string(file.Fragment), "\n")+"\n")
	}
	writeNotes(&text, plan)
	_, err := io.WriteString(out, text.String())
	return err
}

func (a *app) reportPlan(plan *clientsetup.Plan, workspace string) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s for the workspace %s\n", a.styled(styleBold, plan.Title), printable(workspace))
	for _, file := range plan.Files {
		action := fmt.Sprintf("%-9s", file.Action)
		switch file.Action {
		case clientsetup.Created, clientsetup.Updated:
			action = a.styled(styleGreen, action)
		case clientsetup.Kept:
			action = a.styled(styleAmber, action)
		}
		fmt.Fprintf(&text, "  %s  %s: %s\n", action, printable(file.Name), printable(file.Detail))
	}
	text.WriteString("\n")
	writeNotes(&text, plan)
	_, err := io.WriteString(a.out, text.String())
	return err
}

func writeNotes(text *strings.Builder, plan *clientsetup.Plan) {
	writeList(text, "Closed:", plan.Closed)
	writeList(text, "Still open:", plan.Open)
	writeList(text, "To repair:", plan.Warnings)
	fmt.Fprintf(text, "Next: %s\n", plan.Next)
}

func writeList(text *strings.Builder, heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	text.WriteString(heading + "\n")
	for _, line := range lines {
		fmt.Fprintf(text, "  - %s\n", printable(line))
	}
	text.WriteString("\n")
}
