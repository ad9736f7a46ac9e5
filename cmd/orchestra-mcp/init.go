package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/chosen"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// initCommand has the flags of init; what they give is not asked for.
type initCommand struct {
	*app
	yes               bool
	name, description string
	scope             []string
}

func (a *app) newInitCommand() *cobra.Command {
	c := initCommand{app: a}
	cmd := a.operatorCommand(&cobra.Command{
		Use:   "init",
		Short: "Make this directory a governed workspace",
		Long: `Asks what is to be done first and writes .orchestration with an intent for it, annotated settings and rules. What
exists is kept. With --yes it asks nothing and proposes what it finds: the source directories and the toolchain. What
the work is for it cannot find: give --name and --description, or change the placeholder in active_intents.yaml.`,
		Example: "  orchestra-mcp init\n  orchestra-mcp init --yes --name \"Build the weather API\" --scope \"src/api/**\"",
	}, c.run)
	f := cmd.Flags()
	f.BoolVarP(&c.yes, "yes", "y", false, "ask nothing")
	f.StringVar(&c.name, "name", "", "the first intent's `NAME`")
	f.StringVar(&c.description, "description", "", "what the agent is to do under it")
	f.StringArrayVar(&c.scope, "scope", nil, "a `GLOB` of paths that it owns; can be given several times")
	return cmd
}

// setUp is what init found and did.
type setUp struct {
	dir     string
	found   scaffold.Detection
	first   scaffold.FirstIntent
	results []scaffold.Result
}

func (c *initCommand) run(ctx context.Context, _ []string) error {
	switch {
	case !c.yes && c.json:
		return usageErrorf("init --json does not ask: add --yes to take what it proposes")
	case !c.yes && !c.inTerminal:
		return usageErrorf("init asks questions, and the input is not a terminal: add --yes to take what it proposes")
	}
	dir, err := c.workspaceDir()
	if err != nil {
		return err
	}
	if err := c.checkPlace(dir); err != nil {
		return err
	}
	return c.withWorkspace(func(root *os.Root) error {
		found, err := scaffold.Detect(root)
		if err != nil {
			return fmt.Errorf("look at %s: %w", dir, err)
		}
		first, err := c.firstIntent(ctx, root, found)
		if err != nil {
			return err
		}
		settingsSchema, errSettings := settings.Schema()
		intentsSchema, errIntents := intent.Schema()
		if err := errors.Join(errSettings, errIntents); err != nil {
			return err
		}
		results, err := scaffold.Create(root, scaffold.Options{
			Intent: first, Detection: found, Config: settings.Example(), SettingsSchema: settingsSchema, IntentsSchema: intentsSchema,
			Beside: c.willBeBeside(root),
		})
		if err != nil {
			return fmt.Errorf("set up %s: %w", dir, err)
		}
		if err := c.trustCreated(root, dir, results); err != nil {
			return err
		}
		if err := c.chooseFirst(dir, first, results); err != nil {
			return err
		}
		done := setUp{dir, found, first, results}
		c.answer(c.initialized(done), func() { c.report(done) })
		return nil
	})
}

// chooseFirst has clients work with their own tools under the intent that was made now, which the person who sits here wanted.
func (c *initCommand) chooseFirst(dir string, first scaffold.FirstIntent, results []scaffold.Result) error {
	made := func(r scaffold.Result) bool { return r.File == intent.FilePath && r.Action == scaffold.Created }
	user := settings.UserDir(c.environ())
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || user == "" || !slices.ContainsFunc(results, made) {
		return err
	}
	return chosen.Put(user, real, chosen.Choice{Intent: first.ID})
}

// willBeBeside reports whether the ledger will stand beside the tree. What settings do not load is told of later.
func (a *app) willBeBeside(root *os.Root) bool {
	loaded, err := a.loadSettings(root.Name(), nil)
	return locate.WillBeBeside(root, err != nil || loaded.Settings.Ledger.Git != settings.Tree)
}

// checkPlace lets an operator who says so twice have an unfit place.
func (c *initCommand) checkPlace(dir string) error {
	if c.yes && c.workspaceFlag != "" {
		return nil
	}
	home, _ := c.home() // "" where nobody knows it
	if err := scaffold.CheckPlace(dir, home); err != nil {
		return fmt.Errorf("init: %w; change to a project's directory (or say --yes --workspace %s if you mean it)", err, shellword.Show(dir))
	}
	return nil
}

// firstIntent is what flags, answers and the detection say. Where there are intents, nothing is asked.
func (c *initCommand) firstIntent(ctx context.Context, root *os.Root, found scaffold.Detection) (scaffold.FirstIntent, error) {
	first := scaffold.FirstIntent{ID: "INT-001", Name: c.name, Scope: found.Scope, StartedAt: c.now(), Description: c.description}
	if len(c.scope) > 0 {
		first.Scope = c.scope
	}
	if intent.Open(root).Initialized() {
		return first, nil
	}
	if !c.yes {
		ask := c.newQuestions()
		c.Println("Agents work under an intent: a named piece of work and the paths that belong to it. The first one:")
		if c.name == "" {
			first.Name = ask.needed("What is to be done, in a few words")
		}
		if len(c.scope) == 0 {
			first.Scope = ask.globs("Paths, separated by spaces", first.Scope)
		}
		if c.description == "" {
			first.Description = ask.line("More about it, for agents and for whoever asks why (may be empty)", "", nil)
		}
		if ask.err != nil {
			return first, fmt.Errorf("init: %w: nothing was written", ask.err)
		}
	}
	if first.Name == "" {
		first.Name, first.Description = "Work on "+placeOfWork(ctx, root.Name()), cmp.Or(first.Description, scaffold.Placeholder)
	}
	if _, err := intent.CompileScope(first.Scope); err != nil {
		return first, usageErrorf("the scope: %w", err)
	}
	return first, nil
}

// placeOfWork names what can be known of the work without asking: the branch, where that is not everybody's, else the
// directory.
func placeOfWork(ctx context.Context, dir string) string {
	branch, err := gitOutput(ctx, dir, "symbolic-ref", "--quiet", "--short", "HEAD")
	branch = strings.TrimSpace(branch)
	if err != nil || branch == "" || slices.Contains([]string{"main", "master", "trunk", "develop"}, branch) {
		return filepath.Base(dir)
	}
	return "branch " + branch
}

// initialized is what init prints for programs.
type initialized struct {
	Workspace  string            `json:"workspace"`
	Files      []scaffold.Result `json:"files"`
	Intent     *intent.Intent    `json:"intent"` // null where the intents that were there are kept
	Toolchains []string          `json:"toolchains"`
	Notes      []string          `json:"notes"`
	Next       string            `json:"next"` // the command that connects a client
}

func (c *initCommand) initialized(done setUp) initialized {
	report := initialized{Workspace: done.dir, Files: done.results, Notes: c.notes(done), Next: c.setupLine(done.dir, done.found.Client)}
	report.Toolchains = records(done.found.Toolchains, func(t scaffold.Toolchain) string { return t.Name })
	if first := done.first; !keptIntents(done.results) {
		report.Intent = &intent.Intent{
			ID: first.ID, Name: first.Name, Description: first.Description, OwnedScope: first.Scope, Status: intent.InProgress, StartedAt: first.StartedAt.UTC(),
		}
	}
	return report
}

func keptIntents(results []scaffold.Result) bool {
	return slices.ContainsFunc(results, func(r scaffold.Result) bool {
		return r.File == scaffold.IntentsFile && r.Action == scaffold.Kept
	})
}

// notes are what a person should know before going on.
func (c *initCommand) notes(done setUp) []string {
	notes := []string{}
	if repository := scaffold.EnclosingRepository(done.dir); done.found.GitRoot {
		// there is nothing to say
	} else if repository != "" {
		notes = append(notes, fmt.Sprintf("this is inside the git repository %s; only this directory is governed. For all of it, run init there.",
			printable.Text(repository)))
	} else {
		notes = append(notes, "this is not a git repository. All works, but ledger records name no revision, and there is no git history to fall "+
			"back on: git init is worth it.")
	}
	notes = append(notes, c.keptSettingsNote(done.dir)...)
	if !keptIntents(done.results) && scaffold.IsPlaceholder(done.first.Description) {
		notes = append(notes, fmt.Sprintf("nobody has said what %s is for, so nothing tells the reason of its lines: change name and "+
			"description in %s.", done.first.ID, scaffold.IntentsFile))
	}
	return notes
}

func (c *initCommand) report(done setUp) {
	c.Printf("%s %s\n", c.Bold("Workspace"), done.dir)
	for _, result := range done.results {
		c.Printf("  %-11s  %s", result.Action, result.File)
		if result.Detail != "" {
			c.Printf(" (%s)", result.Detail)
		}
		c.Println()
	}
	if keptIntents(done.results) {
		c.Printf("\nThe intents that were there are kept: see them with orchestra-mcp intents list.\n")
	} else {
		var toolchains []string
		for _, toolchain := range done.found.Toolchains {
			toolchains = append(toolchains, fmt.Sprintf("%s (%s)", toolchain.Name, toolchain.Manifests[0]))
		}
		c.Printf("\nIntent %s, in progress: %s\n  toolchain: %s\n  scope:     %s\n", done.first.ID, done.first.Name,
			cmp.Or(strings.Join(toolchains, ", "), "none found"), describeScope(done.first.Scope))
	}
	for _, note := range c.notes(done) {
		c.Printf("\nNote: %s\n", note)
	}
	c.Printf("\nNow connect your client (%s; or --all that are here):\n  %s\n", strings.Join(clientsetup.Names(), ", "), c.setupLine(done.dir, done.found.Client))
}

// keptSettingsNote points out settings that somebody else may have written.
func (a *app) keptSettingsNote(dir string) []string {
	loaded, err := a.loadSettings(dir, nil)
	switch {
	case err != nil:
		return []string{fmt.Sprintf("the settings do not load, and a server would not start: %v", err)}
	case slices.ContainsFunc(loaded.Withheld, func(w settings.Withheld) bool { return w.NeedsTrust }):
		return []string{"the settings that were there weaken defaults; that takes effect only after you have looked at them with orchestra-mcp trust."}
	default:
		return nil
	}
}

// setupLine is the command that connects the client, as it can be pasted from anywhere.
func (a *app) setupLine(dir, client string) string {
	launch, _ := a.launch(dir) // without a path the name is all there is
	if launch.Container() {
		return fmt.Sprintf("%s setup %s", launch.Line(), client)
	}
	line := clientsetup.Program
	if executable, pathErr := a.executable(); launch.NPX() {
		line = launch.Line()
	} else if pathErr == nil && !isOnPath(line, executable) {
		line = shellword.Show(cmp.Or(launch.Path(), executable))
	}
	return fmt.Sprintf("%s setup %s --workspace %s", line, client, shellword.Show(dir))
}

func isOnPath(program, executable string) bool {
	found, err := exec.LookPath(program)
	return err == nil && clientsetup.Same(found, executable)
}
