package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// stepCommand is a step in an intent's life.
type stepCommand struct {
	*app
	name          string
	to            intent.Status
	from          []intent.Status
	note          string
	noVerify, yes bool
}

// newStepCommands are start, block, done and reopen.
func (a *app) newStepCommands() []*cobra.Command {
	return []*cobra.Command{
		a.newStepCommand("start", "Put an intent in progress", intent.InProgress, intent.Todo, intent.InProgress, intent.Blocked),
		a.newStepCommand("block", "Keep agents from an intent until it is started again", intent.Blocked, intent.Todo, intent.InProgress, intent.Blocked),
		a.newStepCommand("done", "Run an intent's verify commands and mark it done", intent.Done, intent.Todo, intent.InProgress, intent.Blocked, intent.Done),
		a.newStepCommand("reopen", "Put an intent that is done in progress again", intent.InProgress, intent.Done),
	}
}

func (a *app) newStepCommand(name, short string, to intent.Status, from ...intent.Status) *cobra.Command {
	c := stepCommand{app: a, name: name, to: to, from: from}
	cmd := a.operatorCommand(&cobra.Command{
		Use: name + " ID", Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeIntent,
		Example: "  orchestra-mcp intents " + name + " INT-001 --note \"as agreed\"",
	}, interruptible(c.run)) // what a verify command started must not outlive an interrupt
	cmd.Flags().StringVar(&c.note, "note", "", "a `TEXT` for the history")
	if to == intent.Done {
		cmd.Flags().BoolVar(&c.noVerify, "no-verify", false, "without its verify commands; the record says so")
		cmd.Flags().BoolVarP(&c.yes, "yes", "y", false, "run the verify commands without asking")
	}
	return cmd
}

func (c *stepCommand) run(ctx context.Context, args []string) error {
	id := args[0]
	if err := c.withIntent(id, c.check); err != nil {
		return err
	}
	step := server.IntentStep{IntentID: id, Status: c.to, Note: c.note, SkipVerify: c.noVerify}
	if !c.json {
		step.Progress = func(message string) { fmt.Fprint(c.err, printer.Lines(message)) }
	}
	var taken server.StepTaken
	if err := c.withServer(ctx, func(srv *server.Server) (err error) {
		taken, err = srv.UpdateIntent(ctx, step)
		return err
	}); err != nil {
		return c.explain(id, err)
	}
	c.answer(taken, func() { c.report(taken) })
	return nil
}

// checkStep refuses what the file says cannot be meant, and asks before commands that stand in it are run: the file may
// be somebody else's.
func (c *stepCommand) check(in *intent.Intent) error {
	switch {
	case !slices.Contains(c.from, in.Status) && in.Status == intent.Done:
		return mistakef("intents %s: %s is done; take it up again with orchestra-mcp intents reopen %s", c.name, in.ID, in.ID)
	case !slices.Contains(c.from, in.Status):
		return mistakef("intents %s: %s is %s, not done; use orchestra-mcp intents start %s", c.name, in.ID, in.Status, in.ID)
	case c.name != "done" || in.Status == intent.Done || len(in.Verify) == 0 || c.noVerify || c.yes:
		return nil
	case !c.inTerminal || c.json:
		return usageErrorf("intents done asks before it runs the verify commands of %s (orchestra-mcp intents show %s lists them): "+
			"add --yes to run them, or --no-verify to go without", in.ID, in.ID)
	}
	c.List(in.ID+" is done when these commands pass, here and as you:", "  - ", in.Verify)
	return c.agreed(false, "intents done", "them", "Run them?", "Nothing was run or changed.")
}

// explain tells a person what an agent would have been told.
func (c *stepCommand) explain(id string, err error) error {
	refused, isRefusal := errors.AsType[*refusal.Refusal](err)
	if !isRefusal {
		return fmt.Errorf("intents %s %s: %w", c.name, id, err)
	}
	text := fmt.Sprintf("intents %s: %s", c.name, refused.Reason())
	if refused.Code() != refusal.VerifyFailed {
		return fmt.Errorf("%s %s", text, refused.Suggestion())
	}
	if output, _ := refused.Detail("output").(string); output != "" {
		text += "\n" + strings.TrimRight(output, "\n")
	}
	if record, _ := refused.Detail("record_id").(string); record != "" {
		text += "\nIts record: " + brief.ShortID(record)
	}
	return foundf("%s", printer.Raw(text))
}

func (c *stepCommand) report(taken server.StepTaken) {
	if taken.From == taken.Status {
		c.Printf("%s was %s already.\n", taken.IntentID, taken.Status)
		return
	}
	for _, v := range taken.Verified {
		c.Printf("passed: %s\n", v.Command)
	}
	if c.noVerify {
		c.tell("Its verify commands were not run; the record says so.")
	}
	c.Printf("%s (%s): %s -> %s. Record %s\n", taken.IntentID, taken.Name, taken.From, taken.Status, brief.ShortID(taken.RecordID))
}
