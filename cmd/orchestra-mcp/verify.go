package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/doctor"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
)

type verifyCommand struct {
	*app
	keys            []string
	git, incomplete bool
	base            string
}

func (a *app) newVerifyCommand() *cobra.Command {
	c := verifyCommand{app: a}
	cmd := a.command(&cobra.Command{
		Use:   "verify",
		Short: "Check that nothing in the ledger was changed or removed",
		Long: `Check the ledger's chain, which needs no key; the seals, with the keys that you trust; and with --git that no commit
dropped a record. It also says what it cannot prove.

Records that are missing here but whole on a branch that was not merged are an incomplete_branch: a cherry-pick, or a
rebase or squash of a part, leaves it. They count as a problem unless you give --allow-incomplete.

Changes of a server that was killed, which have no record yet, are listed and are no problem: nothing in the ledger is
wrong, and the next server that starts writes what is missing.

The exit code is 0 if no problem was found, 1 if there are problems, 3 if it could not check, as without a ledger. A
workspace where nothing was recorded yet passes; a ledger that is gone, as git, seals or this machine's files show,
is a lost_ledger.

You trust your own key, the keys in the directory seal-keys of your orchestra-mcp configuration, and those that you
give with --key. Keys that are in the repository only prove nothing: whoever rewrites a ledger can replace them.`,
		Example: "  orchestra-mcp verify\n  orchestra-mcp verify --git --base origin/main --key alice.pub",
	}, c.run)
	flags := cmd.Flags()
	flags.StringArrayVar(&c.keys, "key", nil, "trust the public `KEY`, as text or as a file, and require a seal by it (by one of several)")
	flags.BoolVar(&c.git, "git", false, "compare each commit's ledger with its parents'")
	flags.StringVar(&c.base, "base", "", "with --git, only commits that `REVISION` does not have")
	flags.BoolVar(&c.incomplete, "allow-incomplete", false, "exit with 0 if nothing worse than an incomplete branch was found")
	return cmd
}

// verifyResult is what verify prints for programs.
type verifyResult struct {
	operator.Verification
	Git *gitResult `json:"git,omitzero"`
}

type gitResult struct {
	Commits  int `json:"commits"`
	Compared int `json:"compared"`
	Restored int `json:"restored"`
}

func (c *verifyCommand) run(ctx context.Context, _ []string) error {
	if c.base != "" && !c.git {
		return usageErrorf("--base is about commits: give --git too")
	}
	opts, err := c.sealKeys(c.keys)
	if err != nil {
		return err
	}
	return c.withOperator(ctx, func(w *operator.Workspace) error {
		c.bringRecords(ctx, w.Root)
		var result verifyResult
		if result.Verification, err = w.Verify(ctx, opts); err != nil {
			return err
		}
		if c.git {
			if err := result.addHistory(ctx, w.Root, c.base); err != nil {
				return err
			}
		}
		c.answer(result, func() { c.printVerification(result) })
		return found(slices.ContainsFunc(result.Problems, func(p ledger.Problem) bool { return !c.incomplete || p.Kind != ledger.ProblemIncomplete }))
	})
}

// sealKeys are the keys to trust: those on the command line, which are required too, and those in the user's directory.
func (a *app) sealKeys(given []string) (opts seal.VerifyOptions, err error) {
	for _, text := range given {
		key, err := seal.ParsePublicKey(text)
		if err != nil {
			if _, missing := os.Stat(text); missing != nil {
				return opts, mistakef("--key: it is neither a public key nor a file: %w", err)
			}
			if key, err = seal.ReadPublicKey(text); err != nil {
				return opts, mistakef("--key: %w", err)
			}
		}
		opts.Required = append(opts.Required, key)
	}
	return opts, nil
}

func (r *verifyResult) addHistory(ctx context.Context, root *os.Root, base string) error {
	commits, err := history.Verify(ctx, root, history.Options{Base: base})
	if err != nil {
		return err
	}
	selection := []string{"--end-of-options", "HEAD"}
	if base != "" {
		selection = append(selection, "^"+base)
	}
	missing, err := gitref.MissingAnchors(ctx, root, selection...)
	if err != nil {
		return err
	}
	for _, a := range missing {
		r.Problems = append(r.Problems, ledger.Problem{Kind: gitref.ProblemAnchor, Segment: "agent_trace.jsonl", Record: a.Head.String(),
			Detail: fmt.Sprintf("commit %.12s relies on the record with this hash, and it is not here; orchestra-mcp sync brings it, once whoever made the commit has sent it", a.Commit)})
	}
	r.Git = &gitResult{commits.Commits, commits.Compared, commits.Restored}
	r.Problems = append(r.Problems, commits.Problems...)
	r.Unproven = append(r.Unproven, commits.Unproven...)
	return nil
}

func (a *app) printVerification(r verifyResult) {
	rows := [][]any{
		{"records", r.Records},
		{"heads", len(r.Heads)},
		{"sealed", fmt.Sprintf("%d, by %d of %d seals", r.Sealed, counted(r.Seals), len(r.Seals))},
		{"unsealed", r.Unsealed},
	}
	if r.Foreign > 0 {
		rows = append(rows, []any{"of other tools", r.Foreign})
	}
	if r.Git != nil {
		rows = append(rows, []any{"commits", fmt.Sprintf("%d, with %d changes of the ledger; %d dropped lines are back",
			r.Git.Commits, r.Git.Compared, r.Git.Restored)})
	}
	a.Rows(append(rows, []any{"problems", len(r.Problems)})...)
	a.printLedgerProblems(r.Problems)
	a.List("\nNot proven:", "- ", r.Unproven)
	a.printUnsettled(r.Unsettled)
	if len(r.Problems) == 0 && r.Records > 0 {
		a.Printf("\n%s\n", a.Green("The ledger holds: nothing was changed or removed."))
	}
}

// counted are the seals that make records count as sealed.
func counted(seals []seal.Checked) (n int) {
	for _, s := range seals {
		if s.Holds && s.Trust == seal.TrustedKey {
			n++
		}
	}
	return n
}

func (a *app) printLedgerProblems(problems []ledger.Problem) {
	printer.Section(a.Printer, "PROBLEM|WHERE|RECORD|WHAT", problems, func(p ledger.Problem) []any {
		where := p.Segment
		if p.Line > 0 {
			where += ":" + strconv.Itoa(p.Line)
		}
		return []any{p.Kind, where, brief.ShortID(p.Record), p.Detail}
	})
}

// maxUnsettled bounds the changes that are shown to people.
const maxUnsettled = 20

// printUnsettled tells of changes that have no record yet. They are no problem of the ledger: what stands in it holds, and
// the next server writes the rest.
func (a *app) printUnsettled(found []doctor.Interrupted) {
	if len(found) == 0 {
		return
	}
	a.Printf("\nNot settled: %s of servers that were killed, with no record yet. The next server that starts\n"+
		"writes it, or one that runs before its next change; nothing has to be done by hand.\n", printer.Count(len(found), "change"))
	shown := found[:min(len(found), maxUnsettled)]
	printer.Table(a.Printer, "BEGAN|INTENT|WHAT", shown, func(i doctor.Interrupted) []any {
		return []any{i.Began.UTC().Format(time.RFC3339), orNone(i.IntentID), printable.Clip(i.What(), 100)}
	})
	a.More(len(found), len(shown), "")
}
