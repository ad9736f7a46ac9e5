package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// stepFlags are the flags of the steps in an intent's life.
type stepFlags struct {
	note          string
	noVerify, yes bool
	json          *bool
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
	var f stepFlags
	cmd := &cobra.Command{
		Use: name + " ID", Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeIntent,
		Example: "  orchestra-mcp intents " + name + " INT-001 --note \"as agreed\"",
	}
	cmd.Flags().StringVar(&f.note, "note", "", "a `TEXT` for the history")
	if to == intent.Done {
		cmd.Flags().BoolVar(&f.noVerify, "no-verify", false, "without its verify commands; the record says so")
		cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "run the verify commands without asking")
	}
	f.json = addJSONFlag(cmd)
	cmd.RunE = a.operator(func(cmd *cobra.Command, args []string) error {
		return a.stepIntent(cmd.Context(), name, args[0], to, from, f)
	})
	return cmd
}

func (a *app) stepIntent(ctx context.Context, name, id string, to intent.Status, from []intent.Status, f stepFlags) error {
	if err := a.checkStep(name, id, from, f); err != nil {
		return err
	}
	// What a verify command started must not outlive a keyboard interrupt.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	srv, err := a.openServer()
	if err != nil {
		return err
	}
	step := server.IntentStep{IntentID: id, Status: to, Note: f.note, SkipVerify: f.noVerify}
	if !*f.json {
		step.Progress = func(message string) { fmt.Fprint(a.err, printableLines(message)) }
	}
	taken, err := srv.UpdateIntent(ctx, step)
	if err = errors.Join(err, srv.Close()); err != nil {
		return a.explainStep(name, id, err)
	}
	if *f.json {
		return printJSON(a.out, taken)
	}
	return a.reportStep(taken, f)
}

// checkStep refuses what the file says cannot be meant, and asks before commands that stand in it are run: the file may
// be somebody else's.
func (a *app) checkStep(name, id string, from []intent.Status, f stepFlags) error {
	return a.withIntentSet(func(set *intent.Set) error {
		in, ok := set.Get(id)
		switch {
		case !ok:
			return unknownIntent(id, set)
		case !slices.Contains(from, in.Status) && in.Status == intent.Done:
			return mistakef("intents %s: %s is done; take it up again with orchestra-mcp intents reopen %s", name, in.ID, in.ID)
		case !slices.Contains(from, in.Status):
			return mistakef("intents %s: %s is %s, not done; use orchestra-mcp intents start %s", name, in.ID, in.Status, in.ID)
		case name != "done" || in.Status == intent.Done || len(in.Verify) == 0 || f.noVerify || f.yes:
			return nil
		case !a.inTerminal || *f.json:
			return usageErrorf("intents done asks before it runs the verify commands of %s (orchestra-mcp intents show %s lists them): "+
				"add --yes to run them, or --no-verify to go without", in.ID, in.ID)
		}
		var text strings.Builder
		writeItems(&text, in.ID+" is done when these commands pass, here and as you", in.Verify)
		fmt.Fprint(a.out, text.String())
		if !a.confirm("Run them?") {
			fmt.Fprintln(a.out, "Nothing was run or changed.")
			return foundSomething()
		}
		return nil
	})
}

// explainStep tells a person what an agent would have been told.
func (a *app) explainStep(name, id string, err error) error {
	var refused *refusal.Refusal
	if !errors.As(err, &refused) {
		return fmt.Errorf("intents %s %s: %w", name, id, err)
	}
	text := fmt.Sprintf("intents %s: %s", name, refused.Reason())
	if refused.Code() != refusal.VerifyFailed {
		return fmt.Errorf("%s %s", text, refused.Suggestion())
	}
	if output, _ := refused.Detail("output").(string); output != "" {
		text += "\n" + strings.TrimRight(output, "\n")
	}
	if record, _ := refused.Detail("record_id").(string); record != "" {
		text += "\nIts record: " + shortID(record)
	}
	return foundf("%s", text)
}

func (a *app) reportStep(taken server.StepTaken, f stepFlags) error {
	if taken.From == taken.Status {
		_, err := fmt.Fprintf(a.out, "%s was %s already.\n", taken.IntentID, taken.Status)
		return err
	}
	for _, v := range taken.Verified {
		fmt.Fprintf(a.out, "passed: %s\n", printable(v.Command))
	}
	if f.noVerify {
		fmt.Fprintln(a.err, "Its verify commands were not run; the record says so.")
	}
	_, err := fmt.Fprintf(a.out, "%s (%s): %s -> %s. Record %s\n", taken.IntentID, printable(taken.Name), taken.From, taken.Status, shortID(taken.RecordID))
	return err
}
