package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// setupFlags are the flags of setup.
type setupFlags struct {
	print, remove, json, keepReadTools bool
	command                            string
}

func (a *app) newSetupCommand() *cobra.Command {
	var flags setupFlags
	cmd := &cobra.Command{
		Use:   "setup " + strings.Join(clientsetup.Names(), "|"),
		Short: "Connect an MCP client, and close its own ways round the gate",
		Long: "Writes this server into the client's configuration, keeping everything else that stands there, and takes the\n" +
			"client's own tools that write files or run commands away, as far as the client lets itself be configured.\n" +
			"It says what stays open. A second run changes nothing; --remove takes out what a setup has put in.\n" +
			"Files in the workspace can be committed: they start orchestra-mcp from the PATH, in the directory that the\n" +
			"client has opened.",
		Example:   "  orchestra-mcp setup claude-code\n  orchestra-mcp setup vscode --print\n  orchestra-mcp setup cursor --remove",
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
	cmd.Flags().BoolVar(&flags.remove, "remove", false, "take out of the files what a setup has put in")
	cmd.Flags().BoolVar(&flags.json, "json", false, "print the files and what is closed as JSON")
	cmd.Flags().BoolVar(&flags.keepReadTools, "keep-read-tools", false,
		"leave the client its own reading tools; the server then does not know what the agent has seen")
	cmd.Flags().StringVar(&flags.command, "command", "",
		"the `PROGRAM` that the client starts (default: orchestra-mcp on the PATH; in files of your home, this binary)")
	cmd.MarkFlagsMutuallyExclusive("print", "remove")
	return cmd
}

func (a *app) printSetup(client string, flags setupFlags) error {
	plan, opts, err := a.planSetup(client, flags)
	if err != nil {
		return err
	}
	if flags.json {
		return printJSON(a.out, asJSON(plan, opts.Workspace, true))
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
	switch {
	case flags.json:
		err = printJSON(a.out, asJSON(plan, opts.Workspace, false))
	case flags.remove && !plan.Changes() && !plan.Weakened():
		fmt.Fprintf(a.out, "%s is not set up for the workspace %s: nothing of this server stands in its files, and none was changed.\n",
			plan.Title, printable(opts.Workspace))
	default:
		err = a.reportPlan(plan, opts.Workspace)
	}
	if err != nil {
		return err
	}
	if !flags.remove {
		a.warnIfNotInitialized()
		if err := scaffold.CheckPlace(opts.Workspace, opts.Home); err != nil {
			fmt.Fprintf(a.err, "warning: %s; use a project's own directory as the workspace\n", printable(err.Error()))
		}
	}
	if plan.Weakened() || flags.remove && !plan.Changes() {
		return foundSomething()
	}
	return nil
}

func (a *app) planSetup(client string, flags setupFlags) (*clientsetup.Plan, clientsetup.Options, error) {
	opts, err := a.setupOptions(flags)
	if err != nil {
		return nil, opts, err
	}
	newPlan := clientsetup.New
	if flags.remove {
		newPlan = clientsetup.NewRemoval
	}
	plan, err := newPlan(client, opts)
	if errors.Is(err, clientsetup.ErrUnknownClient) {
		return nil, opts, usageErrorf("setup: %w", err)
	}
	if err != nil {
		return nil, opts, fmt.Errorf("set up %w", err)
	}
	if !flags.remove {
		a.warnOfPath(plan, opts)
	}
	return plan, opts, nil
}

// warnOfPath says so where the client would not find the program that the files name, or another one.
func (a *app) warnOfPath(plan *clientsetup.Plan, opts clientsetup.Options) {
	program := cmp.Or(opts.Command, clientsetup.Program)
	if !plan.NamesProgram(program) || strings.ContainsAny(program, `/\`) || isOnPath(program, opts.Executable) {
		return
	}
	if found, err := exec.LookPath(program); err == nil {
		fmt.Fprintf(a.err, "warning: the client starts %s, which is %s on your PATH, and not this program, %s\n", program, printable(found), printable(opts.Executable))
		return
	}
	mend := fmt.Sprintf("put it there (ln -s %s /usr/local/bin/%s), or name it with --command, which is then this machine's path in a file that others may get",
		shellword.Show(opts.Executable), program)
	if a.os == "windows" {
		mend = fmt.Sprintf("add %s to it", filepath.Dir(opts.Executable))
	}
	plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s is not on your PATH, so the client cannot start it: %s", program, mend))
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
	executable, err := a.executable()
	if err != nil {
		return clientsetup.Options{}, fmt.Errorf("find the path of this binary: %w", err)
	}
	return clientsetup.Options{
		Workspace: workspace, Command: flags.command, Executable: executable, Home: home, OS: a.os, LookupEnv: a.lookup,
		UserDir: settings.UserDir(a.environ()), KeepReadTools: flags.keepReadTools,
	}, nil
}

// setupJSON is a plan for scripts.
type setupJSON struct {
	Client    string      `json:"client"`
	Title     string      `json:"title"`
	Workspace string      `json:"workspace"`
	Files     []setupFile `json:"files"`
	Closed    []string    `json:"closed"`
	Open      []string    `json:"open"`
	Repair    []string    `json:"repair"`
	Next      string      `json:"next"`
}

type setupFile struct {
	Path     string             `json:"path"`
	Name     string             `json:"name"`
	Action   clientsetup.Action `json:"action"`
	Detail   string             `json:"detail,omitempty"`
	Fragment string             `json:"fragment,omitempty"` // with --print
}

func asJSON(plan *clientsetup.Plan, workspace string, fragments bool) setupJSON {
	shown := setupJSON{
		Client: plan.Client, Title: plan.Title, Workspace: workspace, Files: []setupFile{},
		Closed: orEmpty(plan.Closed), Open: orEmpty(plan.Open), Repair: orEmpty(plan.Warnings), Next: plan.Next,
	}
	for _, file := range plan.Files {
		entry := setupFile{Path: file.Path, Name: file.Name, Action: file.Action, Detail: file.Detail}
		if fragments {
			entry.Fragment = string(file.Fragment)
		}
		shown.Files = append(shown.Files, entry)
	}
	return shown
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
		case clientsetup.Created, clientsetup.Updated, clientsetup.Removed:
			action = a.styled(styleGreen, action)
		case clientsetup.Kept:
			action = a.styled(styleAmber, action)
		}
		fmt.Fprintf(&text, "  %s  %s", action, printable(file.Name))
		if file.Detail != "" {
			fmt.Fprintf(&text, ": %s", printable(file.Detail))
		}
		text.WriteString("\n")
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
