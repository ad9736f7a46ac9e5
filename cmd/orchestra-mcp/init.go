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

	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/internal/shellword"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// initFlags are the flags of init; what they give is not asked for.
type initFlags struct {
	yes               bool
	name, description string
	scope             []string
	json              *bool
}

func (a *app) newInitCommand() *cobra.Command {
	var flags initFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make this directory a governed workspace",
		Long: "Asks what is to be done first and writes .orchestration with an intent for it, annotated settings and rules. What\n" +
			"exists is kept. With --yes it asks nothing and proposes what it finds: the source directories and the toolchain. What\n" +
			"the work is for it cannot find: give --name and --description, or change the placeholder in active_intents.yaml.",
		Args: cobra.NoArgs,
		RunE: a.operator(func(cmd *cobra.Command, _ []string) error {
			return a.initWorkspace(cmd.Context(), flags)
		}),
	}
	flags.json = addJSONFlag(cmd)
	f := cmd.Flags()
	f.BoolVarP(&flags.yes, "yes", "y", false, "ask nothing")
	f.StringVar(&flags.name, "name", "", "the first intent's `NAME`")
	f.StringVar(&flags.description, "description", "", "what the agent is to do under it")
	f.StringArrayVar(&flags.scope, "scope", nil, "a `GLOB` of paths that it owns; can be given several times")
	return cmd
}

func (a *app) initWorkspace(ctx context.Context, flags initFlags) error {
	switch {
	case !flags.yes && *flags.json:
		return usageErrorf("init --json does not ask: add --yes to take what it proposes")
	case !flags.yes && !a.inTerminal:
		return usageErrorf("init asks questions, and the input is not a terminal: add --yes to take what it proposes")
	}
	dir, err := a.workspaceDir()
	if err != nil {
		return err
	}
	if err := a.checkPlace(dir, flags.yes); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	found, err := scaffold.Detect(root)
	if err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	first, err := a.firstIntent(ctx, root, dir, flags, found)
	if err != nil {
		return err
	}
	settingsSchema, errSettings := settings.Schema()
	intentsSchema, errIntents := intent.Schema()
	if err := errors.Join(errSettings, errIntents); err != nil {
		return err
	}
	results, err := scaffold.Create(root, scaffold.Options{
		Intent: first, Detection: found, Config: exampleConfig(), SettingsSchema: settingsSchema, IntentsSchema: intentsSchema,
		Beside: a.willBeBeside(root),
	})
	if err != nil {
		return fmt.Errorf("set up %s: %w", dir, err)
	}
	if err := a.trustCreated(root, dir, results); err != nil {
		return err
	}
	if *flags.json {
		return a.printInit(dir, found, first, results)
	}
	return a.reportInit(dir, found, first, results)
}

// willBeBeside reports whether the ledger will stand beside the tree. What settings do not load is told of later.
func (a *app) willBeBeside(root *os.Root) bool {
	loaded, err := a.loadSettings(root.Name(), nil)
	return ledger.WillBeBeside(root, err != nil || loaded.Settings.Ledger.Git != settings.Tree)
}

// checkPlace lets an operator who says so twice have an unfit place.
func (a *app) checkPlace(dir string, yes bool) error {
	if yes && a.workspaceFlag != "" {
		return nil
	}
	home, err := a.home()
	if err != nil {
		home = ""
	}
	if err := scaffold.CheckPlace(dir, home); err != nil {
		return fmt.Errorf("init: %w; change to a project's directory (or say --yes --workspace %s if you mean it)", err, shellword.Show(dir))
	}
	return nil
}

// firstIntent is what flags, answers and the detection say. Where there are intents, nothing is asked.
func (a *app) firstIntent(ctx context.Context, root *os.Root, dir string, flags initFlags, found scaffold.Detection) (scaffold.FirstIntent, error) {
	first := scaffold.FirstIntent{ID: "INT-001", Name: flags.name, Scope: found.Scope, StartedAt: a.now(), Description: flags.description}
	if len(flags.scope) > 0 {
		first.Scope = flags.scope
	}
	if intent.Open(root).Initialized() {
		return first, nil
	}
	if !flags.yes {
		if err := a.askFirstIntent(&first, flags); err != nil {
			return first, err
		}
	}
	if first.Name == "" {
		first.Name, first.Description = "Work on "+a.placeOfWork(ctx, dir), cmp.Or(first.Description, scaffold.Placeholder)
	}
	if _, err := intent.CompileScope(first.Scope); err != nil {
		return first, usageErrorf("the scope: %w", err)
	}
	return first, nil
}

func (a *app) askFirstIntent(first *scaffold.FirstIntent, flags initFlags) error {
	ask := newQuestions(a.in, a.out)
	fmt.Fprintln(a.out, "Agents work under an intent: a named piece of work and the paths that belong to it. The first one:")
	if flags.name == "" {
		first.Name = ask.needed("What is to be done, in a few words")
	}
	if len(flags.scope) == 0 {
		first.Scope = ask.globs("Paths, separated by spaces", first.Scope)
	}
	if flags.description == "" {
		first.Description = ask.line("More about it, for agents and for whoever asks why (may be empty)", "", nil)
	}
	if ask.err != nil {
		return fmt.Errorf("init: %w: nothing was written", ask.err)
	}
	return nil
}

// placeOfWork names what can be known of the work without asking: the branch, where that is not everybody's, else the
// directory.
func (a *app) placeOfWork(ctx context.Context, dir string) string {
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

func (a *app) printInit(dir string, found scaffold.Detection, first scaffold.FirstIntent, results []scaffold.Result) error {
	report := initialized{Workspace: dir, Files: results, Toolchains: []string{}, Notes: a.allInitNotes(dir, found, first, results), Next: a.setupLine(dir, found.Client)}
	for _, toolchain := range found.Toolchains {
		report.Toolchains = append(report.Toolchains, toolchain.Name)
	}
	if !keptIntents(results) {
		report.Intent = &intent.Intent{
			ID: first.ID, Name: first.Name, Description: first.Description, OwnedScope: first.Scope, Status: intent.InProgress, StartedAt: first.StartedAt.UTC(),
		}
	}
	return printJSON(a.out, report)
}

func keptIntents(results []scaffold.Result) bool {
	return slices.ContainsFunc(results, func(r scaffold.Result) bool {
		return r.File == scaffold.IntentsFile && r.Action == scaffold.Kept
	})
}

// allInitNotes are what a person should know before going on.
func (a *app) allInitNotes(dir string, found scaffold.Detection, first scaffold.FirstIntent, results []scaffold.Result) []string {
	notes := append(a.initNotes(dir, found), a.keptSettingsNote(dir)...)
	if !keptIntents(results) && scaffold.IsPlaceholder(first.Description) {
		notes = append(notes, fmt.Sprintf("nobody has said what %s is for, so nothing tells the reason of its lines: change name and "+
			"description in %s.", first.ID, scaffold.IntentsFile))
	}
	return orEmpty(notes)
}

func (a *app) reportInit(dir string, found scaffold.Detection, first scaffold.FirstIntent, results []scaffold.Result) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s\n", a.styled(styleBold, "Workspace"), printable(dir))
	for _, result := range results {
		fmt.Fprintf(&text, "  %-11s  %s%s\n", result.Action, result.File, detailSuffix(result.Detail))
	}
	if keptIntents(results) {
		text.WriteString("\nThe intents that were there are kept: see them with orchestra-mcp intents list.\n")
	} else {
		fmt.Fprintf(&text, "\nIntent %s, in progress: %s\n", first.ID, printable(first.Name))
		fmt.Fprintf(&text, "  toolchain: %s\n", describeToolchains(found))
		fmt.Fprintf(&text, "  scope:     %s\n", printable(describeScope(first.Scope)))
	}
	for _, note := range a.allInitNotes(dir, found, first, results) {
		fmt.Fprintf(&text, "\nNote: %s\n", note)
	}
	fmt.Fprintf(&text, "\nNow connect your client (%s):\n  %s\n", "claude-desktop, claude-code, cursor, roo or vscode", a.setupLine(dir, found.Client))
	_, err := fmt.Fprint(a.out, text.String())
	return err
}

func detailSuffix(detail string) string {
	if detail == "" {
		return ""
	}
	return " (" + detail + ")"
}

func describeToolchains(found scaffold.Detection) string {
	var names []string
	for _, toolchain := range found.Toolchains {
		names = append(names, fmt.Sprintf("%s (%s)", toolchain.Name, printable(toolchain.Manifest)))
	}
	return cmp.Or(strings.Join(names, ", "), "none found")
}

func (a *app) initNotes(dir string, found scaffold.Detection) []string {
	if found.GitRoot {
		return nil
	}
	if repository := scaffold.EnclosingRepository(dir); repository != "" {
		return []string{fmt.Sprintf("this is inside the git repository %s; only this directory is governed. For all of it, run init there.",
			printable(repository))}
	}
	return []string{"this is not a git repository. All works, but ledger records name no revision, and there is no git history to fall " +
		"back on: git init is worth it."}
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
	program := "orchestra-mcp"
	if executable, err := a.executable(); err == nil && !isOnPath(program, executable) {
		program = executable
	}
	return fmt.Sprintf("%s setup %s --workspace %s", shellword.Show(program), client, shellword.Show(dir))
}

func isOnPath(program, executable string) bool {
	found, err := exec.LookPath(program)
	if err != nil {
		return false
	}
	left, leftErr := os.Stat(found)
	right, rightErr := os.Stat(executable)
	return leftErr == nil && rightErr == nil && os.SameFile(left, right)
}
