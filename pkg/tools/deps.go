package tools

import (
	"context"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/outside"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Staleness keeps what agents were shown and explains what changed since;
// gate.Freshness implements it.
type Staleness interface {
	Remember(hash string, content []byte)
	Refuse(call *hooks.Call, path, want, have string, content []byte) *refusal.Refusal
}

// Trace answers questions about the ledger.
type Trace interface {
	// Writable says why a record would not be taken now.
	Writable(ctx context.Context) error
	Query(ctx context.Context, f ledger.Filter) (ledger.Result, error)
	// Guard notes how the ledger ends; what it returns says what of that is gone.
	Guard(ctx context.Context) (lost func(ctx context.Context, git bool) string, err error)
	// Withhold has changes refused as long as check gives an error.
	Withhold(check func(ctx context.Context) error)
}

// Asks finds what a caller wants to go on with; ask.Service implements it.
type Asks interface {
	Resume(ctx context.Context, call *hooks.Call, id string) (approval.Request, error)
}

// Deps are what the shipped tools work on.
type Deps struct {
	Workspace *workspace.Workspace
	Intents   *intent.Store
	Sessions  *session.Store
	Fresh     Staleness
	Trace     Trace
	Runner    *command.Runner
	Artifacts *command.Artifacts
	Approvals *approval.Store
	// Snapshots find what commands changed; nil finds nothing. RevertViolations
	// takes back what a command should not have changed.
	Snapshots        *snapshot.Keeper
	RevertViolations bool
	// Outside are places outside of the workspace that are looked at before and
	// after a command that is not held to it.
	Outside func() []outside.Place
	Ask     Asks
	Clock   func() time.Time
	// Do runs a call of another tool under the same law; the engine's.
	Do func(ctx context.Context, r hooks.Request) hooks.Result

	// Jobs are the commands in the background, nil where there can be none, and
	// Continue is the engine's.
	Jobs     *command.Jobs
	Continue func(ctx context.Context, call *hooks.Call, planned hooks.Planned) hooks.Result

	// HandOver is after how long a command whose call is fragile goes on in the
	// background; 0 is never.
	HandOver time.Duration

	// Confine is what holds commands.
	Confine Confine

	// Lifetime is how long a session handle lives unused.
	Lifetime time.Duration
	// Match steers how diffs are placed.
	Match edit.Options
	// Brain is the workspace-relative path of the shared brain.
	Brain string
	// CommandTimeout is used where a call gives none; MaxCommandTimeout bounds
	// what it may give.
	CommandTimeout, MaxCommandTimeout time.Duration
	// FileLimit bounds a file that a tool reads or writes whole, ContextLimit
	// the <intent_context>, in bytes.
	FileLimit    int64
	ContextLimit int
	// KeepEnv names variables that commands get although they look like
	// secrets; OutputCap bounds the kept output of one command, in bytes.
	KeepEnv   []string
	OutputCap int64
	// RecordReads puts what tools read of the workspace into the ledger.
	RecordReads bool
	// ShortText: clients show their models the text and the structured content.
	// What stands in a part of its own is then left out of the latter.
	ShortText bool
	// Aliases adds Roo's edit and search_replace beside edit_file.
	Aliases bool
}

// All returns the shipped tools in the order in which tools/list shows them.
func All(d *Deps) []hooks.Tool {
	tools := []hooks.Tool{
		selectActiveIntent(d), getActiveIntent(d), listIntents(d),
		readFile(d), listFiles(d), searchFiles(d), readCommandOutput(d),
		queryTrace(d), queryLessons(d),
		writeToFile(d), applyDiff(d), editFile(d, "edit_file"), applyPatch(d), executeCommand(d),
		listCommands(d), stopCommand(d),
		proposeIntent(d), requestScopeExpansion(d), updateIntent(d, false), recordLesson(d), resumeApproval(d),
	}
	if d.Aliases {
		tools = append(tools, editFile(d, "edit"), editFile(d, "search_replace"))
	}
	return tools
}

// Operator returns the tools of the operator's commands that change what an
// intent is. They are for an engine whose gate is an operator's, which is Do.
func Operator(d *Deps, skipVerify bool) []hooks.Tool {
	return []hooks.Tool{updateIntent(d, skipVerify), executeCommand(d)}
}
