package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// setupCommand has the flags of setup.
type setupCommand struct {
	*app
	all, fragments, remove, managed, keepTools, trustHooks, adopt bool
	program                                                       string
	documents                                                     []setupJSON          // of --all
	written                                                       *clientsetup.Options // of what was set up, if anything was
}

func (a *app) newSetupCommand() *cobra.Command {
	c := setupCommand{app: a}
	write := a.operator(c.write)
	cmd := a.command(&cobra.Command{
		Use:   "setup --all|" + strings.Join(clientsetup.Names(), "|"),
		Short: "Connect an MCP client, and put its own tools under the gate",
		Long: `Writes this server into the client's configuration, and hooks by which the client asks before it uses a tool of
its own, keeping everything else that stands there. Where a hook that fails lets a call pass, the client's own
tools are taken away as well, as far as the client lets itself be configured; --keep-tools leaves them.
It says what stays open. A second run changes nothing; --remove takes out what a setup has put in.
With --adopt the client's other MCP servers move behind this one, where each of their tools has a law: into the
list servers of your own settings, or of the workspace's where the client's file lies in the workspace, and their
variables and headers into files of yours alone. --print shows what would move; --remove puts them back.
Files in the workspace can be committed: they start orchestra-mcp from the PATH, in the directory that the
client has opened. From npx they start npx with this version, from the image docker, and from there without hooks.`,
		Example:   "  orchestra-mcp setup claude-code\n  orchestra-mcp setup --all\n  orchestra-mcp setup vscode --print\n  orchestra-mcp setup cursor --remove\n  orchestra-mcp setup claude-code --adopt --print",
		ValidArgs: clientsetup.Names(),
		Args:      c.oneOrAll,
	}, func(ctx context.Context, args []string) error {
		if c.fragments {
			return c.each(args, c.show)
		}
		return write(ctx, args)
	})
	flags := cmd.Flags()
	flags.BoolVar(&c.fragments, "print", false, "print what would have to be in each file, and write nothing")
	flags.BoolVar(&c.remove, "remove", false, "take out of the files what a setup has put in")
	flags.Lookup("json").Usage = "print the files and what is closed as JSON"
	flags.BoolVar(&c.all, "all", false, "set up every client that is found on this machine")
	flags.BoolVar(&c.managed, "managed", false, "write the hooks into the administrators' file, for all users of this machine")
	flags.BoolVar(&c.keepTools, "keep-tools", false, "leave the client its own tools, though its hooks cannot stop a call when they fail")
	flags.BoolVar(&c.trustHooks, "trust-hooks", false, "say for you in Codex that it may run the hooks, in your own configuration")
	flags.BoolVar(&c.adopt, "adopt", false, "move the client's other MCP servers behind this one")
	flags.StringVar(&c.program, "command", "",
		"the `PROGRAM` that the client starts (default: by how this one was installed)")
	cmd.MarkFlagsMutuallyExclusive("print", "remove")
	cmd.MarkFlagsMutuallyExclusive("all", "managed")
	cmd.MarkFlagsMutuallyExclusive("adopt", "remove")
	cmd.MarkFlagsMutuallyExclusive("adopt", "managed")
	return cmd
}

// oneOrAll: a client, or --all.
func (c *setupCommand) oneOrAll(_ *cobra.Command, args []string) error {
	if c.all && len(args) == 0 || !c.all && len(args) == 1 {
		return nil
	}
	return usageErrorf("setup: name one client, or give --all: %s", strings.Join(clientsetup.Names(), ", "))
}

// each does something for the client that was named, or for all that are there: it goes on after one that fails.
func (c *setupCommand) each(args []string, do func(client string) (bool, error)) error {
	opts, err := c.options()
	if err != nil {
		return err
	}
	if !c.all {
		worry, err := do(args[0])
		return cmp.Or(err, found(worry))
	}
	args = clientsetup.Installed(opts, func(program string) bool {
		_, err := exec.LookPath(program)
		return err == nil
	})
	worries := len(args) == 0
	if worries {
		c.warn("no client was found: name one of %s", strings.Join(clientsetup.Names(), ", "))
	}
	for _, client := range args {
		worry, err := do(client)
		if err != nil {
			c.warn("%v", err)
		}
		worries = worries || worry || err != nil
	}
	if c.json {
		c.JSON(orEmpty(c.documents))
	}
	return found(worries)
}

// show shows what each file has to hold, for somebody who writes it by hand.
func (c *setupCommand) show(client string) (worry bool, err error) {
	plan, opts, err := c.plan(client)
	if err != nil {
		return false, err
	}
	c.tellPlan(c.document(plan, opts.Workspace), func() {
		for _, file := range plan.Files {
			if len(file.Fragment) > 0 { // else something is only taken out
				c.Printf("# %s\n%s\n\n", file.Path, printer.Raw(strings.TrimRight(string(file.Fragment), "\n")))
			}
		}
		c.showAdoption(plan.Adoption)
		c.printNotes(plan)
	})
	return false, nil
}

// tellPlan answers with one plan; those of --all make one document.
func (c *setupCommand) tellPlan(document setupJSON, show func()) {
	if c.all && c.json {
		c.documents = append(c.documents, document)
		return
	}
	c.answer(document, show)
	if c.all {
		c.Println()
	}
}

func (c *setupCommand) write(_ context.Context, args []string) error {
	err := c.each(args, c.writeOne)
	if c.written != nil && !c.remove && !c.managed {
		c.warnIfNotInitialized()
		if err := scaffold.CheckPlace(c.written.Workspace, c.written.Home); err != nil {
			c.tell("warning: %s; use a project's own directory as the workspace", err.Error())
		}
	}
	return err
}

func (c *setupCommand) writeOne(client string) (worry bool, err error) {
	plan, opts, err := c.plan(client)
	if err != nil {
		return false, err
	}
	if opts.Launch.Container() && plan.ForAllWorkspaces() {
		mend := "add --print, and put there what it prints"
		if c.remove {
			mend = "take " + clientsetup.ServerName + " out of them there"
		}
		return false, usageErrorf("setup: the files of %s are not in this container: %s", plan.Title, mend)
	}
	if opts.Launch.Container() && c.adopt {
		return false, usageErrorf("setup: a container keeps no secrets of yours and starts no other servers: install the program to move servers behind it")
	}
	if err := c.checkAdopted(plan, opts.Workspace); err != nil {
		return false, err
	}
	trusted := c.trustsSettings(opts.Workspace)
	if err := plan.Apply(opts.Workspace); err != nil {
		return false, fmt.Errorf("set up %s: %w", plan.Title, err)
	}
	if err := c.trustAdopted(plan, opts.Workspace, trusted); err != nil {
		return false, err
	}
	c.tellPlan(c.document(plan, opts.Workspace), func() {
		if c.remove && !plan.Changes() && !plan.Weakened() {
			c.Printf("%s is not set up for the workspace %s: nothing of this server stands in its files, and none was changed.\n",
				plan.Title, opts.Workspace)
		} else {
			c.report(plan, opts.Workspace)
		}
	})
	c.written = &opts
	return plan.Weakened() || c.remove && !plan.Changes() && !c.all, nil
}

func (c *setupCommand) plan(client string) (*clientsetup.Plan, clientsetup.Options, error) {
	opts, err := c.options()
	if err != nil {
		return nil, opts, err
	}
	newPlan := clientsetup.New
	if c.remove {
		newPlan = clientsetup.NewRemoval
	}
	plan, err := newPlan(client, opts)
	if errors.Is(err, clientsetup.ErrUnknownClient) || errors.Is(err, clientsetup.ErrNotManaged) {
		return nil, opts, usageErrorf("setup: %w", err)
	}
	if err != nil {
		return nil, opts, fmt.Errorf("set up %w", err)
	}
	if !c.remove {
		c.warnOfPath(plan, opts)
	}
	return plan, opts, nil
}

// warnOfPath says so where the client would not find the program that the files name, or another one.
func (c *setupCommand) warnOfPath(plan *clientsetup.Plan, opts clientsetup.Options) {
	program, executable := cmp.Or(c.program, clientsetup.Program), opts.Launch.Path()
	if executable == "" { // which has another name, or none that stays
		executable, _ = c.executable()
	}
	if !plan.NamesProgram(program) || strings.ContainsAny(program, `/\`) || isOnPath(program, executable) {
		return
	}
	if found, err := exec.LookPath(program); err == nil {
		c.tell("warning: the client starts %s, which is %s on your PATH, and not this program, %s", program, found, executable)
		return
	}
	mend := fmt.Sprintf("put it there (ln -s %s /usr/local/bin/%s), or name it with --command, which is then this machine's path in a file that others may get",
		shellword.Show(executable), program)
	if c.os == "windows" {
		mend = fmt.Sprintf("add %s to it", filepath.Dir(executable))
	}
	if err := opts.Launch.Unfit(); err != nil {
		mend = err.Error()
	}
	plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s is not on your PATH, so the client cannot start it: %s", program, mend))
}

// warnIfNotInitialized says so when the server that was set up would refuse every change.
func (a *app) warnIfNotInitialized() {
	_ = a.withIntents(func(store *intent.Store) error {
		if !store.Initialized() {
			a.tell("warning: this workspace has no intents yet, so nothing can be changed through the server: run orchestra-mcp init")
		}
		return nil
	})
}

func (c *setupCommand) options() (clientsetup.Options, error) {
	workspace, err := c.workspaceDir()
	if err != nil {
		return clientsetup.Options{}, err
	}
	home, err := c.home()
	if err != nil {
		return clientsetup.Options{}, fmt.Errorf("find your home directory: %w; set HOME", err)
	}
	launch, err := c.launch(workspace)
	if err != nil {
		return clientsetup.Options{}, err
	}
	if c.program != "" {
		launch = clientsetup.Named(c.program)
	}
	users, workspaces := c.secretsDirs(workspace)
	return clientsetup.Options{
		Adopt: c.adopt, UserSecrets: users, WorkspaceSecrets: workspaces,
		Workspace: workspace, Launch: launch, Home: home, OS: c.os, LookupEnv: c.lookup,
		UserDir: settings.UserDir(c.environ()), KeepTools: c.keepTools, TrustHooks: c.trustHooks, Managed: c.managed,
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
	Moved     []movedJSON `json:"moved,omitempty"` // other servers that changed their place
	Left      []leftJSON  `json:"left,omitempty"`  // those that did not, and why
}

type setupFile struct {
	Path     string             `json:"path"`
	Name     string             `json:"name"`
	Action   clientsetup.Action `json:"action"`
	Detail   string             `json:"detail,omitempty"`
	Fragment string             `json:"fragment,omitempty"` // with --print
}

func (c *setupCommand) document(plan *clientsetup.Plan, workspace string) setupJSON {
	moved, left := adoptionJSON(plan.Adoption)
	return setupJSON{
		Client: plan.Client, Title: plan.Title, Workspace: workspace, Moved: moved, Left: left,
		Closed: orEmpty(plan.Closed), Open: orEmpty(plan.Open), Repair: orEmpty(plan.Warnings), Next: plan.Next,
		Files: records(append(slices.Clone(plan.Files), aside(plan)...), func(file clientsetup.File) setupFile {
			entry := setupFile{Path: file.Path, Name: file.Name, Action: file.Action, Detail: file.Detail}
			if c.fragments {
				entry.Fragment = string(file.Fragment)
			}
			return entry
		}),
	}
}

func (c *setupCommand) report(plan *clientsetup.Plan, workspace string) {
	if c.managed {
		c.Printf("%s for all users of this machine\n", c.Bold(plan.Title))
	} else {
		c.Printf("%s for the workspace %s\n", c.Bold(plan.Title), workspace)
	}
	for _, file := range append(slices.Clone(plan.Files), aside(plan)...) {
		action := printer.Raw(fmt.Sprintf("%-9s", file.Action))
		switch file.Action {
		case clientsetup.Created, clientsetup.Updated, clientsetup.Removed:
			action = c.Green(string(action))
		case clientsetup.Kept:
			action = c.Amber(string(action))
		}
		c.Printf("  %s  %s", action, file.Name)
		if file.Detail != "" {
			c.Printf(": %s", file.Detail)
		}
		c.Println()
	}
	c.Println()
	c.tellAdoption(plan.Adoption)
	c.printNotes(plan)
}

func (c *setupCommand) printNotes(plan *clientsetup.Plan) {
	for _, list := range []struct {
		heading string
		lines   []string
	}{{"Closed:", plan.Closed}, {"Still open:", plan.Open}, {"To repair:", plan.Warnings}} {
		if len(list.lines) > 0 {
			c.List(list.heading, "  - ", list.lines)
			c.Println()
		}
	}
	c.Printf("Next: %s\n", plan.Next)
}
