package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/doctor"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

type verifyFlags struct {
	keys []string
	git  bool
	base string
	part bool
	json *bool
}

func (a *app) newVerifyCommand() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check that nothing in the ledger was changed or removed",
		Long: "Check the ledger's chain, which needs no key; the seals, with the keys that you trust; and with --git that no commit\n" +
			"dropped a record. It also says what it cannot prove.\n\n" +
			"Records that are missing here but whole on a branch that was not merged are an incomplete_branch: a cherry-pick, or a\n" +
			"rebase or squash of a part, leaves it. They count as a problem unless you give --allow-incomplete.\n\n" +
			"Changes of a server that was killed, which have no record yet, are listed and are no problem: nothing in the ledger is\n" +
			"wrong, and the next server that starts writes what is missing.\n\n" +
			"The exit code is 0 if no problem was found, 1 if there are problems, 3 if it could not check, as without a ledger. A\n" +
			"workspace where nothing was recorded yet passes; a ledger that is gone, as git, seals or this machine's files show,\n" +
			"is a lost_ledger.\n\n" +
			"You trust your own key, the keys in the directory seal-keys of your orchestra-mcp configuration, and those that you\n" +
			"give with --key. Keys that are in the repository only prove nothing: whoever rewrites a ledger can replace them.",
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.keys, "key", nil, "trust the public `KEY`, as text or as a file, and require a seal by it (by one of several)")
	flags.BoolVar(&f.git, "git", false, "compare each commit's ledger with its parents'")
	flags.StringVar(&f.base, "base", "", "with --git, only commits that `REVISION` does not have")
	flags.BoolVar(&f.part, "allow-incomplete", false, "exit with 0 if nothing worse than an incomplete branch was found")
	f.json = addJSONFlag(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error { return a.verify(cmd.Context(), f) })
	return cmd
}

// verifyResult is what verify prints for programs.
type verifyResult struct {
	seal.Report
	Git *gitResult `json:"git,omitzero"`
	// Unsettled are changes that a killed server has left without a record.
	Unsettled []doctor.Interrupted `json:"unsettled"`
}

type gitResult struct {
	Commits  int `json:"commits"`
	Compared int `json:"compared"`
	Restored int `json:"restored"`
}

func (a *app) verify(ctx context.Context, f verifyFlags) error {
	if f.base != "" && !f.git {
		return usageErrorf("--base is about commits: give --git too")
	}
	opts, err := a.sealKeys(f.keys)
	if err != nil {
		return err
	}
	root, err := a.openWorkspace()
	if err != nil {
		return err
	}
	defer root.Close()
	a.bringRecords(ctx, root)
	opts.Elsewhere = history.Elsewhere(root)
	var result verifyResult
	if result.Report, err = seal.Verify(ctx, root, opts); err != nil {
		return err
	}
	lost, note, err := checkThere(ctx, root, result.Report.Report)
	if err != nil {
		return err
	}
	result.Problems = append(result.Problems, lost...)
	if note != "" {
		result.Unproven = append(result.Unproven, note)
	}
	if f.git {
		if err := result.addHistory(ctx, root, f.base); err != nil {
			return err
		}
	}
	result.Problems = append(result.Problems, untold(root)...)
	if result.Unsettled, err = doctor.FindInterrupted(root); err != nil {
		result.Unsettled = []doctor.Interrupted{}
		result.Unproven = append(result.Unproven, fmt.Sprintf("what killed servers have left cannot be read (%v): changes may have no record yet", err))
	}
	if *f.json {
		err = printJSON(a.out, result)
	} else {
		err = a.printVerification(result)
	}
	if err == nil && slices.ContainsFunc(result.Problems, func(p ledger.Problem) bool { return !f.part || p.Kind != ledger.ProblemIncomplete }) {
		return foundSomething()
	}
	return err
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
	opts.Trusted, err = seal.KnownKeys(settings.UserDir(a.environ()))
	return opts, err
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

func (a *app) printVerification(r verifyResult) error {
	rows := [][]string{
		{"records", strconv.Itoa(r.Records)},
		{"heads", strconv.Itoa(len(r.Heads))},
		{"sealed", fmt.Sprintf("%d, by %d of %d seals", r.Sealed, counted(r.Seals), len(r.Seals))},
		{"unsealed", strconv.Itoa(r.Unsealed)},
	}
	if r.Foreign > 0 {
		rows = append(rows, []string{"of other tools", strconv.Itoa(r.Foreign)})
	}
	if r.Git != nil {
		rows = append(rows, []string{"commits", fmt.Sprintf("%d, with %d changes of the ledger; %d dropped lines are back",
			r.Git.Commits, r.Git.Compared, r.Git.Restored)})
	}
	rows = append(rows, []string{"problems", strconv.Itoa(len(r.Problems))})
	if err := printTable(a.out, rows); err != nil {
		return err
	}
	if err := a.printLedgerProblems(r.Problems); err != nil {
		return err
	}
	if len(r.Unproven) > 0 {
		fmt.Fprintln(a.out, "\nNot proven:")
	}
	for _, sentence := range r.Unproven {
		fmt.Fprintf(a.out, "- %s\n", printable(sentence))
	}
	if err := a.printUnsettled(r.Unsettled); err != nil || len(r.Problems) > 0 || r.Records == 0 {
		return err
	}
	_, err := fmt.Fprintf(a.out, "\n%s\n", a.styled(styleGreen, "The ledger holds: nothing was changed or removed."))
	return err
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

func (a *app) printLedgerProblems(problems []ledger.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	fmt.Fprintln(a.out)
	rows := [][]string{{"PROBLEM", "WHERE", "RECORD", "WHAT"}}
	for _, p := range problems {
		where := p.Segment
		if p.Line > 0 {
			where += ":" + strconv.Itoa(p.Line)
		}
		rows = append(rows, []string{string(p.Kind), where, shortID(p.Record), p.Detail})
	}
	return printTable(a.out, rows)
}
