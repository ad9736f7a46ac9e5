package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/presence"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/status"
)

func (a *app) newStatusCommand() *cobra.Command {
	var all bool
	cmd := a.command(&cobra.Command{
		Use:   "status [DIR...]",
		Short: "Show who works here now, what runs, and what waits for you",
		Long: `Show the agents that are connected, their intents and last actions, the commands that run, what waits for your
answer, checks and verify commands that failed, and whether the ledger is whole: of this workspace, of those that
you name, or with --all of every workspace in which you have run a server. Nothing is changed.

The exit code is 1 if the ledger of one has problems.`,
		Args:    cobra.ArbitraryArgs,
		Example: "  orchestra-mcp status\n  orchestra-mcp status --all\n  orchestra-mcp status --json ~/src/one ~/src/two",
	}, func(ctx context.Context, args []string) error {
		dirs, err := a.statusDirs(args, all)
		if err != nil {
			return err
		}
		return a.status(ctx, dirs)
	})
	cmd.Flags().BoolVar(&all, "all", false, "every workspace in which you have run a server")
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

func (a *app) status(ctx context.Context, dirs []string) error {
	reports := []status.Report{}
	problems := 0
	for _, dir := range dirs {
		report, err := a.statusOf(ctx, dir)
		if err != nil {
			return err
		}
		reports = append(reports, report)
		problems += report.Ledger.Problems + len(report.Problems)
	}
	a.answer(reports, func() { a.printStatus(reports) })
	return found(problems > 0)
}

func (a *app) statusOf(ctx context.Context, dir string) (report status.Report, err error) {
	err = a.withOperatorOf(ctx, dir, func(w *operator.Workspace) error {
		report, err = w.Status(ctx)
		return err
	})
	return report, err
}

func (a *app) printStatus(reports []status.Report) {
	if len(reports) == 0 {
		a.Println("No server has run in any workspace of yours yet.")
	}
	for i, r := range reports {
		if i > 0 {
			a.Println()
		}
		a.printWorkspace(r)
	}
}

func (a *app) printWorkspace(r status.Report) {
	a.Println(a.Bold(r.Workspace))
	if !r.Initialized {
		a.Println("  not initialised: orchestra-mcp init makes a first intent, and agents can change nothing before")
		return
	}
	const indent = "    "
	switch {
	case len(r.Agents) > 0:
		a.Printf("  %s\n", a.Bold("agents"))
	case len(r.Servers) == 0:
		a.Println("  agents: none; no server runs")
	default:
		a.Printf("  agents: none has selected an intent; %s\n", printer.Count(len(r.Servers), "server"))
	}
	printer.Table(a.Printer, indent+"CLIENT|INTENT|MODEL|LAST USED|LAST ACTION", r.Agents, func(agent status.Agent) []any {
		return []any{indent + printer.Cell(agent.Client, maxCell), printer.Cell(strings.TrimSpace(agent.IntentID+" "+agent.IntentName), maxSubject),
			printer.Cell(agent.Model, maxCell), a.age(agent.LastUsed) + " ago", printer.Cell(agent.LastAction, maxSubject)}
	})
	a.heading("running", len(r.Running))
	printer.Table(a.Printer, indent+"FOR|INTENT|TOOL|WHAT", r.Running, func(running status.Running) []any {
		return []any{indent + a.age(running.Began), printer.Cell(running.IntentID, maxCell), printer.Cell(running.Tool, maxCell), printer.Cell(running.What, maxSubject)}
	})
	a.heading("waits for you", len(r.Waiting))
	printer.Table(a.Printer, indent+"ID|AGE|INTENT|TOOL|ABOUT", r.Waiting, func(w status.Waiting) []any {
		return []any{indent + w.ID[:idLength], a.age(w.CreatedAt), printer.Cell(w.IntentID, maxCell), printer.Cell(w.Tool, maxCell), printer.Cell(w.Subject, maxSubject)}
	})
	a.heading("failing checks", len(r.Checks))
	printer.Table(a.Printer, indent+"INTENT|COMMAND|ENDED|RECORD", r.Checks, func(c status.Check) []any {
		how := fmt.Sprintf("%s ago, exit code %d", a.age(c.At), c.ExitCode)
		if c.TimedOut {
			how = a.age(c.At) + " ago, out of time"
		}
		return []any{indent + printer.Cell(c.IntentID, maxCell), printer.Cell(c.Command, maxSubject), how, brief.ShortID(c.RecordID)}
	})
	for _, problem := range r.Problems {
		a.Printf("  %s %s\n", a.Red("problem"), problem)
	}
	a.Printf("  ledger: %s\n", a.ledgerText(r.Ledger))
}

// heading stands above the rows of a section, if it has some.
func (a *app) heading(title string, rows int) {
	if rows > 0 {
		a.Printf("  %s\n", a.Bold(title))
	}
}

func (a *app) ledgerText(l status.Ledger) (text printer.Raw) {
	switch {
	case l.Problems > 0:
		text = a.Red(printer.Count(l.Problems, "problem")) + "; orchestra-mcp verify names them"
	case l.Partly:
		text = a.Amber("long, and not checked to its end") + "; orchestra-mcp verify does"
	default:
		text = a.Green("whole") + printer.Raw(fmt.Sprintf(", %s, %d sealed", printer.Count(l.Records, "record"), l.Sealed))
	}
	if l.Unsettled > 0 {
		text += printer.Raw(fmt.Sprintf("; %s of killed servers, which the next server records", printer.Count(l.Unsettled, "change")))
	}
	return text
}
