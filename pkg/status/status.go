package status

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/internal/presence"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/external"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

const (
	// recent bounds the newest records that are looked at for the last action of each agent and the last run of each check.
	recent = 1000
	// verifyTime bounds the check of the ledger; that is some hundred thousand records.
	verifyTime = time.Second
	// atWork is how lately a session was used that counts as live although its server is gone: another serves its handle.
	atWork = 2 * time.Minute
)

// Options say what is looked at.
type Options struct {
	Dir     string // the workspace's absolute path
	UserDir string // of the user's settings, "" if unknown
	Now     func() time.Time
	// Current tells whether a check stands in the settings still; nil: all do.
	Current func(external.Finding) bool
	// Unchecked leaves the check of the ledger out, for who asks again and again.
	Unchecked bool
}

// Report is what Of found.
type Report struct {
	Workspace   string            `json:"workspace"`
	Initialized bool              `json:"initialized"`
	Servers     []presence.Server `json:"servers"`
	Agents      []Agent           `json:"agents"`  // the last used first; sessions of clients that are gone are not among them
	Running     []Running         `json:"running"` // calls in flight, commands among them, the oldest first
	Waiting     []Waiting         `json:"waiting"` // for the operator's answer, the oldest first
	Checks      []Check           `json:"checks"`
	Ledger      Ledger            `json:"ledger"`
	Problems    []string          `json:"problems"` // what could not be read
}

// Agent is a session that a live server serves.
type Agent struct {
	Session    string    `json:"session"` // the public id
	Client     string    `json:"client"`
	Model      string    `json:"model,omitempty"`
	IntentID   string    `json:"intent_id"`
	IntentName string    `json:"intent_name,omitempty"`
	StartedAt  time.Time `json:"started_at"`
	LastUsed   time.Time `json:"last_used"` // at most a minute behind
	LastAction string    `json:"last_action,omitempty"`
	ActedAt    time.Time `json:"acted_at,omitzero"`
}

// Running is a call that changes something or runs a command.
type Running struct {
	Tool     string    `json:"tool"`
	IntentID string    `json:"intent_id,omitempty"`
	Session  string    `json:"session,omitempty"`
	What     string    `json:"what"` // the command without what looks like a secret, or the files
	Began    time.Time `json:"began"`
	Artifact string    `json:"artifact,omitempty"` // the id of a command's output
	// Principal is who made the call.
	Principal string `json:"principal,omitempty"`
}

// Waiting is a request to the operator.
type Waiting struct {
	ID        string    `json:"id"`
	Tool      string    `json:"tool"`
	IntentID  string    `json:"intent_id,omitempty"`
	Subject   string    `json:"subject"`
	CreatedAt time.Time `json:"created_at"`
}

// Check is a verify command of an intent, or a check of the settings, whose last run failed.
type Check struct {
	IntentID string    `json:"intent_id"` // the intent that it verifies, or under which it was last run
	Command  string    `json:"command"`
	Paths    string    `json:"paths,omitempty"` // a scope glob, of a check of the settings
	ExitCode int       `json:"exit_code"`
	TimedOut bool      `json:"timed_out,omitempty"`
	RecordID string    `json:"record_id"` // of the run, or of the change that was checked
	At       time.Time `json:"at"`
}

// Ledger is whether the ledger is whole.
type Ledger struct {
	Records  int `json:"records"`
	Sealed   int `json:"sealed"` // under a seal that the user trusts
	Problems int `json:"problems"`
	// Partly: it is long, and was not checked to its end.
	Partly bool `json:"partly,omitempty"`
	// Unsettled are changes of servers that were killed, which the next server records.
	Unsettled int `json:"unsettled"`
}

// look collects a report.
type look struct {
	Options
	root   *os.Root
	report Report
}

// Of looks at a workspace. The error is that of a directory that cannot be opened.
func Of(ctx context.Context, o Options) (Report, error) {
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return Report{}, err
	}
	defer root.Close()
	l := &look{Options: o, root: root, report: Report{
		Workspace: o.Dir, Servers: []presence.Server{}, Agents: []Agent{}, Running: []Running{}, Waiting: []Waiting{}, Checks: []Check{},
		Problems: []string{},
	}}
	set, err := intent.Open(root).Load()
	l.report.Initialized = !errors.Is(err, intent.ErrNotInitialized)
	if !l.report.Initialized {
		return l.report, nil
	}
	l.problem("the intents", err)
	l.state()
	l.agents(set)
	l.waiting()
	l.records(ctx, set)
	l.findings()
	if !l.Unchecked {
		l.ledger(ctx)
	}
	return l.report, nil
}

func (l *look) problem(what string, err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.report.Problems = append(l.report.Problems, fmt.Sprintf("%s cannot be read: %v", what, err))
	}
}

// state reads the marks of servers and what is in flight.
func (l *look) state() {
	state, err := orchdir.Open(l.root, false, "state")
	if err != nil {
		l.problem("the state of the servers", err)
		return
	}
	defer state.Close()
	servers, err := presence.Servers(state)
	l.problem("the marks of the servers", err)
	l.report.Servers = append(l.report.Servers, servers...)
	entries, err := journal.Look(state)
	l.problem("what is in flight", err)
	for _, e := range entries {
		switch {
		case e.Aside || e.Torn:
		case e.Gone:
			l.report.Ledger.Unsettled++
		default:
			l.report.Running = append(l.report.Running, running(e.Entry))
		}
	}
	slices.SortStableFunc(l.report.Running, func(a, b Running) int { return a.Began.Compare(b.Began) })
}

func running(e journal.Entry) Running {
	r := Running{Began: e.Began}
	if draft, err := ledger.ParseDraft(e.Lines); err == nil {
		rec := draft.Record()
		r.Tool, r.IntentID, r.Session, r.Principal, r.What = rec.Call, rec.IntentID, rec.Session, rec.Principal, subject(rec)
		if rec.Command != nil {
			r.Artifact = rec.Command.Artifact
		}
	}
	if r.What == "" {
		var paths []string
		for _, f := range e.Files {
			paths = append(paths, f.Path)
		}
		r.What = shortList(paths)
	}
	return r
}

func (l *look) agents(set *intent.Set) {
	sessions, err := session.List(l.root)
	l.problem("the sessions", err)
	for _, s := range sessions {
		served := slices.ContainsFunc(l.report.Servers, func(server presence.Server) bool { return server.ID == s.Server })
		if s.Ended || len(l.report.Servers) == 0 || !served && l.Now().Sub(s.LastUsed) > atWork {
			continue
		}
		a := Agent{
			Session: s.PublicID, Client: strings.TrimSpace(s.ClientName + " " + s.ClientVersion), Model: s.ModelID, IntentID: s.IntentID,
			StartedAt: s.StartedAt, LastUsed: s.LastUsed,
		}
		if set != nil {
			if in, ok := set.Get(s.IntentID); ok {
				a.IntentName = in.Name
			}
		}
		l.report.Agents = append(l.report.Agents, a)
	}
}

func (l *look) waiting() {
	pending, err := approval.Open(l.root, approval.Options{UserDir: l.UserDir, Clock: l.Now}).Pending()
	l.problem("the requests to you", err)
	for _, r := range pending {
		l.report.Waiting = append(l.report.Waiting, Waiting{r.ID, r.Tool, r.IntentID, r.Subject(), r.CreatedAt})
	}
}

// records looks for the last action of each agent and the last run of each verify command among the newest records.
func (l *look) records(ctx context.Context, set *intent.Set) {
	records, err := ledger.Open(l.root, ledger.Options{})
	if err != nil {
		l.problem("the ledger", err)
		return
	}
	defer records.Close(ctx)
	found, err := records.Query(ctx, record.Filter{Newest: true, Limit: recent})
	if err != nil {
		l.problem("the ledger", err)
		return
	}
	for i := range l.report.Agents {
		a := &l.report.Agents[i]
		at := slices.IndexFunc(found.Entries, func(e record.Entry) bool { return e.Session == a.Session })
		if at < 0 {
			continue
		}
		e := found.Entries[at]
		a.ActedAt, a.LastAction = e.Time, strings.TrimSpace(e.Call+" "+subject(e.Record))
		if e.Decision != nil {
			a.LastAction += " (" + strings.TrimSpace(e.Decision.Outcome+" "+e.Decision.ErrorType) + ")"
		}
	}
	if set == nil {
		return
	}
	for _, in := range set.All() {
		if !in.Status.Selectable() {
			continue
		}
		for _, line := range in.Verify {
			l.check(in.ID, line, found.Entries)
		}
	}
}

func (l *look) check(intentID, line string, newest []record.Entry) {
	e, ran := lastRun(intentID, line, newest)
	if ran && failed(e) {
		l.report.Checks = append(l.report.Checks, Check{
			IntentID: intentID, Command: line, ExitCode: e.Command.ExitCode, TimedOut: e.Command.TimedOut, RecordID: e.ID, At: e.Time,
		})
	}
}

// lastRun finds the last run of a verify command under its intent that came to its end.
func lastRun(intentID, line string, newest []record.Entry) (record.Entry, bool) {
	for _, e := range newest {
		if _, elsewhere := e.Upstream(); elsewhere {
			continue // another server is no shell, whatever its tool is called
		}
		if e.Command != nil && !e.Command.Started && e.Command.EndedBy == "" && e.IntentID == intentID && e.Command.Command == line {
			return e, true
		}
	}
	return record.Entry{}, false
}

func failed(e record.Entry) bool { return e.Command.ExitCode != 0 || e.Command.TimedOut }

// findings are the checks of the settings that failed when they last ran.
func (l *look) findings() {
	found, err := external.Findings(l.root)
	l.problem("the outcomes of the checks", err)
	for _, f := range found {
		if l.Current == nil || l.Current(f) {
			l.report.Checks = append(l.report.Checks, Check{f.IntentID, f.Command, f.Paths, f.ExitCode, f.TimedOut, f.RecordID, f.At})
		}
	}
}

func (l *look) ledger(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, verifyTime)
	defer cancel()
	keys, err := seal.KnownKeys(l.UserDir)
	l.problem("the keys that you trust", err)
	verified, err := seal.Verify(ctx, l.root, seal.VerifyOptions{Trusted: keys, Elsewhere: history.Elsewhere(l.root)})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		l.report.Ledger.Partly = true
	case err != nil && !errors.Is(err, ledger.ErrNotInitialized):
		l.problem("the ledger", err)
	default:
		verified.Problems = append(verified.Problems, history.CheckLost(ctx, l.root, verified.Report)...)
		l.report.Ledger.Records, l.report.Ledger.Sealed, l.report.Ledger.Problems = verified.Records, verified.Sealed, len(verified.Problems)
	}
}

// subject is what a record is about: its command, or its paths.
func subject(r record.Record) string {
	if r.Command != nil {
		return r.Command.Command
	}
	if u, is := r.Upstream(); is {
		return u.Server + " " + u.Tool
	}
	var paths []string
	for _, c := range r.Changes {
		paths = append(paths, c.Path)
	}
	if len(paths) == 0 && r.Decision != nil {
		paths = r.Decision.Paths
	}
	return shortList(paths)
}

func shortList(paths []string) string {
	switch len(paths) {
	case 0:
		return ""
	case 1:
		return paths[0]
	}
	return fmt.Sprintf("%s and %d more", paths[0], len(paths)-1)
}
