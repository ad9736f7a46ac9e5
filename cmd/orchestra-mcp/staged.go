package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

type stagedCommand struct {
	*app
	yes bool
}

func (a *app) newStagedCommand() *cobra.Command {
	c := &stagedCommand{app: a}
	group := &cobra.Command{
		Use:   "staged",
		Short: "What commands did on layers of their own",
		Long: `At sandbox level full a command works on a layer over the workspace. What it did is taken over at its end, if all of it
is allowed. If not, or if the agent asked for that, it is kept for a day: nothing of it is in the workspace.`,
	}
	list := a.operatorCommand(&cobra.Command{
		Use: "list", Short: "List what is kept", Args: cobra.NoArgs, Example: "  orchestra-mcp staged list",
	}, c.list)
	show := a.operatorCommand(&cobra.Command{
		Use: "show ID", Short: "Show what it would change", Args: cobra.ExactArgs(1), ValidArgsFunction: c.complete, Example: "  orchestra-mcp staged show stg_4F2K",
	}, c.show)
	commit := a.operatorCommand(&cobra.Command{
		Use: "commit ID", Short: "Take it over", Args: cobra.ExactArgs(1), ValidArgsFunction: c.complete, Example: "  orchestra-mcp staged commit stg_4F2K",
		Long: `Take over what the command did: all of it, or nothing. The command is not run again. What would be asked is answered by
you; what nobody may change stays as it is, and so does everything if somebody has changed one of the files since.`,
	}, c.commit)
	commit.Flags().BoolVarP(&c.yes, "yes", "y", false, "do it without asking")
	discard := a.operatorCommand(&cobra.Command{
		Use: "discard ID...", Short: "Throw it away", Args: cobra.MinimumNArgs(1), ValidArgsFunction: c.complete, Example: "  orchestra-mcp staged discard stg_4F2K",
	}, c.discard)
	return makeGroup(group, list, show, commit, discard)
}

// shortStaged is how much of an id is shown; more is needed only where that is not unique.
const shortStaged = 12

// find completes an id.
func (c *stagedCommand) find(srv *server.Server, name string) (string, error) {
	all, err := srv.Staged()
	if err != nil {
		return "", err
	}
	var ids []string
	for _, one := range all {
		ids = append(ids, one.ID)
	}
	id, err := uniquePrefix(name, ids)
	if err != nil {
		return "", mistakef("staged: %w; orchestra-mcp staged list shows what is kept", err)
	}
	return id, nil
}

// look finds one, with what it would change.
func (c *stagedCommand) look(srv *server.Server, name string) (staged server.StagedCommand, changes []server.StagedChange, err error) {
	id, err := c.find(srv, name)
	if err != nil {
		return staged, nil, err
	}
	return srv.ShowStaged(id)
}

// uniquePrefix is the one of some ids that begins so.
func uniquePrefix(name string, ids []string) (string, error) {
	found := ""
	for _, id := range ids {
		switch {
		case id == name:
			return id, nil
		case len(name) < 6 || !strings.HasPrefix(id, name):
		case found != "":
			return "", fmt.Errorf("%q begins several ids", name)
		default:
			found = id
		}
	}
	if found == "" {
		return "", fmt.Errorf("nothing is kept under %q", name)
	}
	return found, nil
}

func (c *stagedCommand) complete(cmd *cobra.Command, _ []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
	_ = c.withServer(cmd.Context(), func(srv *server.Server) error {
		all, err := srv.Staged()
		for _, one := range all {
			ids = append(ids, one.ID+"\t"+string(printer.Cell(one.Command, maxCell)))
		}
		return err
	})
	return ids, cobra.ShellCompDirectiveNoFileComp
}

func (c *stagedCommand) list(ctx context.Context, _ []string) error {
	return c.withServer(ctx, func(srv *server.Server) error {
		all, err := srv.Staged()
		if err != nil {
			return err
		}
		c.answer(all, func() {
			if len(all) == 0 {
				c.Println("Nothing is kept.")
				return
			}
			printer.Table(c.Printer, "ID|AGE|INTENT|FILES|COMMAND|GOES IN|WHY", all, func(s server.StagedCommand) []any {
				return []any{s.ID[:shortStaged], c.age(s.At), printer.Cell(s.Intent, maxCell), s.Files, printer.Cell(s.Command, maxSubject), c.left(s.Expires), printer.Cell(s.Why, maxSubject)}
			})
		})
		return nil
	})
}

// stagedAnswer is the document of `staged show --json`.
type stagedAnswer struct {
	server.StagedCommand
	Changes []server.StagedChange `json:"changes"`
}

func (c *stagedCommand) show(ctx context.Context, args []string) error {
	return c.withServer(ctx, func(srv *server.Server) error {
		staged, changes, err := c.look(srv, args[0])
		if err != nil {
			return err
		}
		c.answer(stagedAnswer{staged, orEmpty(changes)}, func() { c.print(staged, changes) })
		return nil
	})
}

func (c *stagedCommand) print(s server.StagedCommand, changes []server.StagedChange) {
	c.Printf("%s, under %s, exit code %d\n  %s\n", s.ID, printable.Line(s.Intent), s.ExitCode, printable.Line(s.Command))
	if s.Why != "" {
		c.Printf("Not taken over: %s\n", printable.Line(s.Why))
	}
	for _, one := range changes {
		from := ""
		if one.From != "" {
			from = " from " + printable.Line(one.From)
		}
		c.Printf("%s %s%s\n", one.Operation, printable.Line(one.Path), from)
		switch {
		case one.Conflict != "":
			c.Printf("  conflict: %s\n", printable.Line(one.Conflict))
		case one.Diff != "":
			for line := range strings.Lines(one.Diff) {
				c.DiffLine(strings.TrimSuffix(line, "\n"))
			}
		}
	}
}

func (c *stagedCommand) commit(ctx context.Context, args []string) error {
	return c.withServer(ctx, func(srv *server.Server) error {
		staged, changes, err := c.look(srv, args[0])
		if err != nil {
			return err
		}
		if !c.json {
			c.print(staged, changes)
		}
		if err := c.agreed(c.yes, "staged commit", "what it changes", "Take it over?", "Nothing was changed."); err != nil {
			return err
		}
		taken, err := srv.CommitStaged(ctx, staged.ID)
		if refused, is := errors.AsType[*refusal.Refusal](err); is {
			return foundf("staged commit: %s %s", refused.Reason(), refused.Suggestion())
		}
		if err != nil {
			return err
		}
		c.answer(taken, func() {
			for _, w := range taken.Warnings {
				c.warn("%s", w)
			}
			c.Printf("Taken over: %d files. Record %s\n", len(taken.ChangedFiles), brief.ShortID(taken.RecordID))
		})
		return nil
	})
}

func (c *stagedCommand) discard(ctx context.Context, args []string) error {
	return c.withServer(ctx, func(srv *server.Server) error {
		var ids []string
		for _, name := range args {
			id, err := c.find(srv, name)
			if err == nil {
				err = srv.DiscardStaged(id)
			}
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		c.answer(map[string][]string{"discarded": ids}, func() { c.Printf("Thrown away: %d. Nothing of it was in the workspace.\n", len(ids)) })
		return nil
	})
}
