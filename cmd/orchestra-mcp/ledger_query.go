package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
)

// recordFlags say which records a question is about. Each question offers those that it can mean.
type recordFlags struct {
	intent, path, class, session, since, until string
	kinds                                      []string
}

// addWhich adds the flags that every question about records has.
func (f *recordFlags) addWhich(a *app, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.intent, "intent", "", "only records of the intent `ID`")
	_ = cmd.RegisterFlagCompletionFunc("intent", a.completeIntentFlag)
	flags.StringVar(&f.path, "path", "", "only records that changed `PATH`; of a directory, anything below it")
	flags.StringVar(&f.since, "since", "", "only records from `TIME` on: a date, RFC 3339, today, or an age such as 2h or 3d")
	flags.StringVar(&f.until, "until", "", "only records before `TIME`")
}

// addNarrow adds those that look for single records.
func (f *recordFlags) addNarrow(a *app, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.kinds, "kind", nil, "only `KIND`: "+kindNames())
	flags.StringVar(&f.class, "class", "", "only the mutation `CLASS`: AST_REFACTOR or INTENT_EVOLUTION")
	flags.StringVar(&f.session, "session", "", "only the session with the public `ID`")
	completeFlag(cmd, "kind", strings.Split(kindNames(), ", ")...)
	completeFlag(cmd, "class", "AST_REFACTOR", "INTENT_EVOLUTION")
	_ = cmd.RegisterFlagCompletionFunc("session", a.completeSession)
}

func kindNames() string {
	return strings.Join(records(record.Kinds(), func(k record.Kind) string { return string(k) }), ", ")
}

// filter checks the flags, and leaves the path to be read when the workspace is known.
func (f *recordFlags) filter(a *app) (record.Filter, error) {
	filter := record.Filter{IntentID: f.intent, Class: f.class, Session: f.session}
	for _, k := range f.kinds {
		if !slices.Contains(record.Kinds(), record.Kind(k)) {
			return filter, usageErrorf("--kind %s: there is no such kind; use one of %s", k, kindNames())
		}
		filter.Kinds = append(filter.Kinds, record.Kind(k))
	}
	if classes := []string{"", "AST_REFACTOR", "INTENT_EVOLUTION"}; !slices.Contains(classes, f.class) {
		return filter, usageErrorf("--class %s: there is no such class; use AST_REFACTOR or INTENT_EVOLUTION", f.class)
	}
	now := a.now()
	var err error
	if filter.Since, err = parseTime(f.since, now); err != nil {
		return filter, usageErrorf("--since: %w", err)
	}
	if filter.Until, err = parseTime(f.until, now); err != nil {
		return filter, usageErrorf("--until: %w", err)
	}
	if !filter.Since.IsZero() && !filter.Until.IsZero() && !filter.Since.Before(filter.Until) {
		return filter, usageErrorf("--since %s is not before --until %s: nothing can lie between them", f.since, f.until)
	}
	return filter, nil
}

// question is a ledger that is being asked.
type question struct {
	*app
	*operator.Workspace
	filter record.Filter // the records that are meant
	path   string        // as it was given for the filter
}

// ask opens the ledger for the time of body. flags, if they are not nil, say which records are meant.
func (a *app) ask(ctx context.Context, flags *recordFlags, body func(q *question) error) error {
	q := &question{app: a}
	if flags != nil {
		var err error
		if q.filter, err = flags.filter(a); err != nil {
			return err
		}
		q.path = flags.path
	}
	return a.withOperator(ctx, func(w *operator.Workspace) (err error) {
		if err := requireWorkspace(w.Root); err != nil {
			return err
		}
		a.bringRecords(ctx, w.Root)
		q.Workspace = w
		if q.filter.Path, err = q.pathFilter(q.path); err != nil {
			return err
		}
		return body(q)
	})
}

// pathFilter is workspacePath for a filter: a directory means what is below it, the workspace itself everything.
func (q *question) pathFilter(path string) (string, error) {
	rel, err := q.workspacePath(q.Root, path)
	if err != nil || rel == "" || rel == "." || rel == "./" {
		return "", err
	}
	if info, err := q.Root.Stat(rel); err == nil && info.IsDir() && !strings.HasSuffix(rel, "/") {
		rel += "/"
	}
	return rel, nil
}

// maxUnread bounds how many unread lines are listed; verify lists all.
const maxUnread = 20

// reportUnread tells what of the ledger could not be read and is missing from the answer. Lines that are no records are
// somebody else's mess; a file that could not be read is an error, after the rest was answered.
func (q *question) reportUnread(ctx context.Context, problems []ledger.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	q.Flush()
	q.printUnread(q.Ledger.NumberProblems(ctx, problems))
	unreadable := 0
	for _, p := range problems {
		if p.Kind == ledger.ProblemUnreadable {
			unreadable++
		}
	}
	if unreadable > 0 {
		return fmt.Errorf("the answer is not complete: %d of the ledger's files could not be read; make them regular files that you can read", unreadable)
	}
	q.warn("what stands in these lines is not in the answer; orchestra-mcp verify checks the whole ledger")
	return nil
}

func (a *app) printUnread(problems []ledger.Problem) {
	for _, p := range problems[:min(len(problems), maxUnread)] {
		a.warn("not read: %s: %s", placeOf(p), printable.Clip(p.Detail, 300))
	}
	if more := len(problems) - maxUnread; more > 0 {
		a.warn("and %d more", more)
	}
}

// placeOf names where a problem is, as a path that an editor can open.
func placeOf(p ledger.Problem) string {
	place := ".orchestration/" + p.Segment
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d", place, p.Line)
	}
	return place
}

// workspacePath takes a path relative to the current directory if that is inside the workspace, else to the workspace.
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
		return "", mistakef("%s is outside the workspace %s", path, base)
	}
	rel = filepath.ToSlash(rel)
	if strings.HasSuffix(path, "/") {
		rel += "/"
	}
	return rel, nil
}
