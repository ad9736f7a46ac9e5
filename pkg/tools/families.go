package tools

import (
	"context"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// Families are what the shipped tools work on.
type Families struct {
	Files    *Files
	Brain    *Brain
	Intents  *Intents
	Commands *Commands
	// Asks is what resume_approval goes on with.
	Asks Asks
	// Aliases adds Roo's edit and search_replace beside edit_file.
	Aliases bool
}

// Files is what tools work on that read and change files.
type Files struct {
	Workspace *workspace.Workspace
	Fresh     Staleness
	// Limit bounds a file that is read or written whole, in bytes.
	Limit int64
	// Match steers how diffs are placed.
	Match edit.Options
	// RecordReads puts what tools read of the workspace into the ledger.
	RecordReads bool
	// ShortText: clients show their models the text and the structured content. What stands in a part of its own, or in
	// another form in the same part, is then left out of the latter.
	ShortText bool
}

// Staleness keeps what agents were shown and explains what changed since; gate.Freshness implements it.
type Staleness interface {
	Remember(hash string, content []byte)
	Refuse(call *hooks.Call, path, want, have string, content []byte) *refusal.Refusal
}

// Brain is the shared brain.
type Brain struct {
	*Files
	Intents *intent.Store
	// File is its workspace-relative path.
	File  string
	Clock func() time.Time
}

// Intents is what tools work on that are about intents and what was done under them.
type Intents struct {
	Store    *intent.Store
	Sessions *session.Store
	Ledger   Ledger
	Brain    *Brain
	Clock    func() time.Time
	// ContextLimit bounds the <intent_context>, in bytes.
	ContextLimit int
}

// Ledger is what is asked of the ledger.
type Ledger interface {
	// Writable says why a record would not be taken now.
	Writable(ctx context.Context) error
	Query(ctx context.Context, f record.Filter) (ledger.Result, error)
	// Recent gives some of the newest at once; whole reports whether there can be no others.
	Recent(ctx context.Context, f record.Filter) (found ledger.Result, whole bool, err error)
}

// Commands is what commands run in and are held by.
type Commands struct {
	*Files
	Intents   *intent.Store
	Runner    *command.Runner // nil where there is no shell
	Artifacts *command.Artifacts
	Jobs      *command.Jobs // in the background
	// Observer finds what commands changed, and judges it.
	Observer *observe.Observer
	// What holds commands: the level, what makes their profiles, what Git lines may write, the places of commands.writable,
	// those outside of the workspace that no command may read, and the gate's policy.
	Want             sandbox.Want
	Profiles         *profile.Builder
	Git              profile.Git
	Writable, Hidden []string
	Policy           gate.Policy
	// Stage says which commands work on a layer of their own; "" is StageAuto.
	Stage Stage
	probe *stageProbe
	// LayerBytes bounds what one command may write to its layer; 0 is staging.MaxBytes.
	LayerBytes int64

	Clock func() time.Time
	// HandOver is after how long a command whose call is fragile goes on in the background; 0 is never.
	HandOver time.Duration
	// CommandTimeout is used where a call gives none; MaxCommandTimeout bounds what it may give.
	CommandTimeout, MaxCommandTimeout time.Duration
	// KeepEnv names variables that commands get although they look like
	// secrets; OutputCap bounds the kept output of one command, in bytes.
	KeepEnv   []string
	OutputCap int64
}

// Asks finds what a caller wants to go on with; ask.Service implements it.
type Asks interface {
	Resume(ctx context.Context, call *hooks.Call, id string) (approval.Request, approval.Answer, error)
}

// All returns the shipped tools in the order in which tools/list shows them. They are for the engine, which also runs what
// they leave behind a result and the calls that they make on their way.
func All(f Families, e *hooks.Engine) []hooks.Tool {
	tools := []hooks.Tool{
		selectActiveIntent(f.Intents),
		getActiveIntent(f.Intents),
		listIntents(f.Intents),
		readFile(f.Files),
		listFiles(f.Files),
		searchFiles(f.Files),
		readCommandOutput(f.Commands),
		queryTrace(f.Files, f.Intents.Ledger),
		queryLessons(f.Brain),
		writeToFile(f.Files),
		applyDiff(f.Files),
		editFile(f.Files, "edit_file"),
		applyPatch(f.Files),
		executeCommand(f.Commands, e),
		commitStaged(f.Commands),
		discardTool(f.Commands),
		listCommands(f.Commands),
		stopCommand(f.Commands),
		proposeIntent(f.Intents),
		requestScopeExpansion(f.Intents),
		updateIntent(f.Intents, e, false),
		recordLesson(f.Brain),
		resumeApproval(f.Asks),
	}
	if f.Aliases {
		tools = append(tools, editFile(f.Files, "edit"), editFile(f.Files, "search_replace"))
	}
	return tools
}

// Operator returns the tools of the operator's commands that change what an
// intent is. They are for an engine whose gate is an operator's.
func Operator(f Families, e *hooks.Engine, skipVerify bool) []hooks.Tool {
	return []hooks.Tool{updateIntent(f.Intents, e, skipVerify), executeCommand(f.Commands, e), commitStaged(f.Commands)}
}
