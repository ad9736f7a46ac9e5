package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

type logFlags struct {
	intent, path, class, session string
	kinds                        []string
	since, until                 string
	limit                        int
	json                         *bool
}

func (a *app) newLogCommand() *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Show what the ledger has recorded, newest first",
		Long: "Show the records of the ledger, newest first. With --json the records themselves are printed as JSON lines,\n" +
			"exactly as they stand in the ledger.",
		Args: cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.intent, "intent", "", "only records of the intent `ID`")
	flags.StringVar(&f.path, "path", "", "only records that changed `PATH`; with a final slash, anything below it")
	flags.StringSliceVar(&f.kinds, "kind", nil, "only `KIND`: mutation, command, build, decision, selection, lifecycle, read, recovered")
	flags.StringVar(&f.class, "class", "", "only the mutation `CLASS`: AST_REFACTOR or INTENT_EVOLUTION")
	flags.StringVar(&f.session, "session", "", "only the session with the public `ID`")
	flags.StringVar(&f.since, "since", "", "only records from `TIME` on: RFC 3339, a date, or an age such as 2h or 3d")
	flags.StringVar(&f.until, "until", "", "only records before `TIME`")
	flags.IntVarP(&f.limit, "limit", "n", 50, "at most `N` records, 0 for all")
	f.json = addJSONFlag(cmd)
	cmd.RunE = a.run(func(cmd *cobra.Command, _ []string) error { return a.log(cmd.Context(), f) })
	return cmd
}

func (a *app) log(ctx context.Context, f logFlags) error {
	filter, err := a.logFilter(f)
	if err != nil {
		return err
	}
	root, err := a.openWorkspace()
	if err != nil {
		return err
	}
	defer root.Close()
	records, err := ledger.Open(root, ledger.Options{})
	if err != nil {
		return err
	}
	defer records.Close(ctx)
	if filter.Path, err = a.workspacePath(root, filter.Path); err != nil {
		return err
	}
	found, err := records.Query(ctx, filter)
	if err != nil {
		return err
	}
	for _, p := range found.Problems {
		fmt.Fprintf(a.err, "orchestra-mcp: %s line %d: %s\n", p.Segment, p.Line, printable(p.Detail))
	}
	if *f.json {
		for _, e := range found.Entries {
			fmt.Fprintf(a.out, "%s\n", printableJSON(e.Raw))
		}
		return nil
	}
	return a.printLog(found.Entries)
}

func (a *app) logFilter(f logFlags) (ledger.Filter, error) {
	filter := ledger.Filter{IntentID: f.intent, Path: f.path, Class: f.class, Session: f.session, Limit: f.limit, Newest: true}
	if f.limit < 0 {
		return filter, usageErrorf("--limit %d: give 0 for all records, or a positive number", f.limit)
	}
	for _, k := range f.kinds {
		if !slices.Contains(ledger.Kinds(), ledger.Kind(k)) {
			return filter, usageErrorf("--kind %s: there is no such kind; use one of %v", k, ledger.Kinds())
		}
		filter.Kinds = append(filter.Kinds, ledger.Kind(k))
	}
	var err error
	if filter.Since, err = a.moment(f.since); err != nil {
		return filter, usageErrorf("--since: %w", err)
	}
	if filter.Until, err = a.moment(f.until); err != nil {
		return filter, usageErrorf("--until: %w", err)
	}
	return filter, nil
}

// moment reads a time: RFC 3339, a local date, or an age.
func (a *app) moment(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, time.Local); err == nil {
		return t, nil
	}
	age := s
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n int
		if _, err := fmt.Sscanf(days, "%d", &n); err == nil && fmt.Sprint(n) == days {
			age = fmt.Sprintf("%dh", 24*n)
		}
	}
	d, err := time.ParseDuration(age)
	if err != nil || d < 0 {
		return time.Time{}, fmt.Errorf("%q is no time: use 2026-02-18T18:30:00Z, 2026-02-18, 2h or 3d", s)
	}
	return a.now().Add(-d), nil
}

// workspacePath takes a path relative to the current directory if that is
// inside the workspace, else to the workspace.
func (a *app) workspacePath(root *os.Root, path string) (string, error) {
	if path == "" {
		return "", nil
	}
	current, err := a.workDir()
	if err != nil {
		return "", err
	}
	base, err := filepath.EvalSymlinks(root.Name())
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(current); err == nil {
		current = real
	}
	if rel, err := filepath.Rel(base, current); err != nil || !filepath.IsLocal(rel) {
		current = base
	}
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(current, path)
	}
	rel, err := filepath.Rel(base, full)
	if err != nil || !filepath.IsLocal(rel) {
		return "", usageErrorf("%s is outside the workspace %s", path, base)
	}
	rel = filepath.ToSlash(rel)
	if strings.HasSuffix(path, "/") {
		rel += "/"
	}
	return rel, nil
}

func (a *app) printLog(entries []ledger.Entry) error {
	if len(entries) == 0 {
		fmt.Fprintln(a.out, "No records.")
		return nil
	}
	rows := [][]string{{"TIME", "INTENT", "KIND", "CLASS", "WHAT", "RECORD"}}
	for _, e := range entries {
		rows = append(rows, []string{
			e.Time.Local().Format("2006-01-02 15:04:05"), e.IntentID, string(e.Kind), e.MutationClass, what(e), e.ID,
		})
	}
	return printTable(a.out, rows)
}

// what says in a few words what a record is about.
func what(e ledger.Entry) string {
	switch {
	case e.Command != nil:
		return fmt.Sprintf("%s (exit %d)", clipped(e.Command.Command, 60), e.Command.ExitCode)
	case e.Decision != nil:
		return fmt.Sprintf("%s %s %s", e.Call, e.Decision.Outcome, e.Decision.ErrorType)
	case len(e.Changes) > 0:
		text := fmt.Sprintf("%s %s", e.Changes[0].Op, e.Changes[0].Path)
		if more := len(e.Changes) - 1; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		return text
	}
	return e.Call
}

func clipped(s string, n int) string {
	if runes := []rune(s); len(runes) > n {
		return string(runes[:n]) + "…"
	}
	return s
}
