package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/watch"
	"github.com/intentgov/orchestra-mcp/internal/presence"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/external"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/status"
)

func (a *app) newStatusCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "status [DIR...]",
		Short: "Show who works here now, what runs, and what waits for you",
		Long: "Show the agents that are connected, their intents and last actions, the commands that run, what waits for your\n" +
			"answer, checks and verify commands that failed, and whether the ledger is whole: of this workspace, of those that\n" +
			"you name, or with --all of every workspace in which you have run a server. Nothing is changed.\n\n" +
			"The exit code is 1 if the ledger of one has problems.",
		Example: "  orchestra-mcp status\n  orchestra-mcp status --all\n  orchestra-mcp status --json ~/src/one ~/src/two",
	}
	cmd.Flags().BoolVar(&all, "all", false, "every workspace in which you have run a server")
	asJSON := addJSONFlag(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, args []string) error {
		dirs, err := a.statusDirs(args, all)
		if err != nil {
			return err
		}
		return a.status(cmd.Context(), dirs, *asJSON)
	})
	return cmd
}

func (a *app) statusDirs(args []string, all bool) ([]string, error) {
	switch {
	case all && len(args) > 0:
		return nil, usageErrorf("give directories or --all, not both")
	case all:
		userDir := settings.UserDir(a.environ())
		if userDir == "" {
			return nil, errors.New("--all needs HOME or XDG_CONFIG_HOME, to know your workspaces")
		}
		return presence.Workspaces(userDir)
	case len(args) == 0:
		dir, err := a.workspaceDir()
		return []string{dir}, err
	}
	current, err := a.workDir()
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, arg := range args {
		dir, err := existingDir(arg, current)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

func (a *app) status(ctx context.Context, dirs []string, asJSON bool) error {
	reports := []status.Report{}
	problems := 0
	for _, dir := range dirs {
		report, err := status.Of(ctx, status.Options{
			Dir: dir, UserDir: settings.UserDir(a.environ()), Now: a.now, Current: a.currentCheck(dir),
		})
		if err != nil {
			return err
		}
		reports = append(reports, report)
		problems += report.Ledger.Problems + len(report.Problems)
	}
	err := a.printStatus(reports, asJSON)
	if err == nil && problems > 0 {
		return foundSomething()
	}
	return err
}

// currentCheck tells which checks stand in the settings; those of settings that cannot be read all do.
func (a *app) currentCheck(dir string) func(external.Finding) bool {
	loaded, err := a.loadSettings(dir, nil)
	if err != nil {
		return nil
	}
	return func(f external.Finding) bool {
		return slices.Contains(loaded.Settings.Checks, settings.Check{Paths: f.Paths, Command: f.Command})
	}
}

func (a *app) printStatus(reports []status.Report, asJSON bool) error {
	if asJSON {
		return printJSON(a.out, reports)
	}
	if len(reports) == 0 {
		_, err := fmt.Fprintln(a.out, "No server has run in any workspace of yours yet.")
		return err
	}
	for i, r := range reports {
		if i > 0 {
			fmt.Fprintln(a.out)
		}
		if err := a.printWorkspace(r); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) printWorkspace(r status.Report) error {
	fmt.Fprintln(a.out, a.styled(styleBold, printable(r.Workspace)))
	if !r.Initialized {
		_, err := fmt.Fprintln(a.out, "  not initialised: orchestra-mcp init makes a first intent, and agents can change nothing before")
		return err
	}
	for _, section := range []struct {
		title, none string
		rows        [][]string
	}{
		{"agents", a.noAgents(r), a.agentRows(r)},
		{"running", "", a.runningRows(r)},
		{"waits for you", "", a.waitingRows(r)},
		{"failing checks", "", a.checkRows(r)},
	} {
		if err := a.printSection(section.title, section.none, section.rows); err != nil {
			return err
		}
	}
	for _, problem := range r.Problems {
		fmt.Fprintf(a.out, "  %s %s\n", a.styled(styleRed, "problem"), printable(problem))
	}
	_, err := fmt.Fprintf(a.out, "  ledger: %s\n", a.ledgerText(r.Ledger))
	return err
}

// printSection prints a heading and rows below it; without rows only what none says.
func (a *app) printSection(title, none string, rows [][]string) error {
	if len(rows) < 2 {
		if none == "" {
			return nil
		}
		_, err := fmt.Fprintf(a.out, "  %s: %s\n", title, none)
		return err
	}
	fmt.Fprintf(a.out, "  %s\n", a.styled(styleBold, title))
	var table strings.Builder
	if err := printTable(&table, rows); err != nil {
		return err
	}
	for line := range strings.Lines(table.String()) {
		fmt.Fprint(a.out, "    ", line)
	}
	return nil
}

func (a *app) noAgents(r status.Report) string {
	if len(r.Servers) == 0 {
		return "none; no server runs"
	}
	return fmt.Sprintf("none has selected an intent; %s", numberOf(len(r.Servers), "server"))
}

func (a *app) agentRows(r status.Report) [][]string {
	rows := [][]string{{"CLIENT", "INTENT", "MODEL", "LAST USED", "LAST ACTION"}}
	for _, agent := range r.Agents {
		rows = append(rows, []string{
			tableCell(agent.Client, maxCell), tableCell(strings.TrimSpace(agent.IntentID+" "+agent.IntentName), maxSubject),
			tableCell(agent.Model, maxCell), watch.Age(a.now().Sub(agent.LastUsed)) + " ago", tableCell(agent.LastAction, maxSubject),
		})
	}
	return rows
}

func (a *app) runningRows(r status.Report) [][]string {
	rows := [][]string{{"FOR", "INTENT", "TOOL", "WHAT"}}
	for _, running := range r.Running {
		rows = append(rows, []string{
			watch.Age(a.now().Sub(running.Began)), tableCell(running.IntentID, maxCell), tableCell(running.Tool, maxCell),
			tableCell(running.What, maxSubject),
		})
	}
	return rows
}

func (a *app) waitingRows(r status.Report) [][]string {
	rows := [][]string{{"ID", "AGE", "INTENT", "TOOL", "ABOUT"}}
	for _, w := range r.Waiting {
		rows = append(rows, []string{
			w.ID[:idLength], watch.Age(a.now().Sub(w.CreatedAt)), tableCell(w.IntentID, maxCell), tableCell(w.Tool, maxCell),
			tableCell(w.Subject, maxSubject),
		})
	}
	return rows
}

func (a *app) checkRows(r status.Report) [][]string {
	rows := [][]string{{"INTENT", "COMMAND", "ENDED", "RECORD"}}
	for _, c := range r.Checks {
		how := fmt.Sprintf("%s ago, exit code %d", watch.Age(a.now().Sub(c.At)), c.ExitCode)
		if c.TimedOut {
			how = watch.Age(a.now().Sub(c.At)) + " ago, out of time"
		}
		rows = append(rows, []string{tableCell(c.IntentID, maxCell), tableCell(c.Command, maxSubject), how, shortID(c.RecordID)})
	}
	return rows
}

func (a *app) ledgerText(l status.Ledger) string {
	text := ""
	switch {
	case l.Problems > 0:
		text = a.styled(styleRed, numberOf(l.Problems, "problem")) + "; orchestra-mcp verify names them"
	case l.Partly:
		text = a.styled(styleAmber, "long, and not checked to its end") + "; orchestra-mcp verify does"
	default:
		text = a.styled(styleGreen, "whole") + fmt.Sprintf(", %s, %d sealed", numberOf(l.Records, "record"), l.Sealed)
	}
	if l.Unsettled > 0 {
		text += fmt.Sprintf("; %s of killed servers, which the next server records", numberOf(l.Unsettled, "change"))
	}
	return text
}
