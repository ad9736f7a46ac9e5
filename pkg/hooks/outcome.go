package hooks

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// FileOutcome is one file after execution.
type FileOutcome struct {
	change.Change
	// Knowledge is the effect's: after a change that only quotes what it
	// replaces, the rest of the file is no better known than before.
	Knowledge Knowledge
	InScope   bool
	// Unread: of an end that has a hash, the bytes are not there, because they
	// are too many or were not known; the ids name what is.
	Unread bool
	// Links is how many names the file had before. Of a tool's changes the recorder finds it, and the modes, in the plan.
	Links uint64
}

// Violation is a change of a command that it should not have made.
type Violation struct {
	// Path is workspace-relative, but for one that is Outside.
	Path   string
	Op     change.Op
	Reason string
	// Kind says what was changed if it was no content of a file in the workspace.
	Kind ViolationKind
	// Wanted are the paths that the scope would have to own to allow it; nil if no scope would.
	Wanted []string
	// Reverted: it was undone, and is no change any more.
	Reverted bool
}

// ViolationKind is what a violation was of.
type ViolationKind string

// The kinds; "" is a content or a name in the workspace.
const (
	Metadata  ViolationKind = "metadata"  // permissions, owner, times, extended attributes, names; the content is as it was
	History   ViolationKind = "git"       // HEAD, branches, tags, the stash, the index, the store of objects
	Place     ViolationKind = "workspace" // the workspace's directory itself, or .orchestration
	LedgerCut ViolationKind = "ledger"    // records are gone
	Outside   ViolationKind = "outside"   // outside of the workspace: a watched place, what the line names, other names of a file
)

// CommandOutcome is how a command ended.
type CommandOutcome struct {
	Line, Cwd  string
	ExitCode   int
	TimedOut   bool
	DurationMS int64
	OutputHash string
	// Artifact is the id of the kept output, which can be read while the command runs.
	Artifact string
	// Output is what the agent gets of it: head and tail, cleaned. It is in no record.
	Output string
	// Sandbox is the effective level of SPEC 10.
	Sandbox string
	// Programs are the names of what the line can run, and Unjudged that it can run others.
	Programs []string
	Unjudged bool
	// Job names a command in the background. It has two outcomes: Started, when
	// it runs and nothing else is known, and one at its end.
	Job     string
	Started bool
	// EndedBy says why it was ended before it ended by itself.
	EndedBy string
	// Detail is what the record says beside it.
	Detail map[string]any
}

// Settlement can take an executed change back while its ledger record is not yet safe.
type Settlement interface {
	// Rollback restores every file that still has our content, and fails naming those that do not.
	Rollback(ctx context.Context) error
	Close() error
}

// GitReplay is what git made of commits that people made.
type GitReplay struct {
	// Before and After are the commits of HEAD, "" before the first; Commits are those that came under it, the latest first.
	Before, After              string
	Commits                    []string
	Created, Modified, Deleted int
}

// Outcome is what an executed call did.
type Outcome struct {
	// Continued: what was done has been recorded and observed by Continue.
	Continued bool
	Files     []FileOutcome
	Command   *CommandOutcome
	// Violations are among the Files, but for those that were reverted and for what is no file. Build is what a command
	// changed in places for the output of builds; it has a record of its own.
	Violations []Violation
	Build      []FileOutcome
	// Git counts what a command's git made of commits that were there before, which
	// is in no list; nil for nothing. It has a record of its own.
	Git *GitReplay
	// Delivered are the lines of files that the result hands to the agent.
	Delivered []refusal.Delivery
	Warnings  []string
	// RecordID names the ledger record, "" where none was made.
	RecordID string
	Class    mutation.Resolved
	// Edited is what the agent is told where the operator has edited its call; nil where nobody has.
	Edited *Difference
	// Sent: another server was asked to do it. Whether it did nobody here knows, and nothing takes it back. Failed: it said, or it
	// seems, that it did not.
	Sent, Failed bool
	// Record asks for a ledger record of a call that changed no file and ran no command: a selection, a lifecycle step.
	Record *Note
	// Settlement is nil where nothing can be taken back.
	Settlement Settlement
	// ByAgent: what an operator's call takes over was made by an agent.
	ByAgent bool
	// About is what the record says beside it.
	About map[string]any
	// IntentID, Session and Detail are of a call that a client made by itself: what it was judged under, and what its record
	// says beside it.
	IntentID, Session string
	Detail            map[string]any
	// Policy and Judged are of such a call, as records have them; nil where it was not judged, or is the engine's own.
	Policy string
	Judged *record.Judged
}

// Note is a record without files.
type Note struct {
	// Kind is a ledger kind: "selection", "lifecycle", "decision", "read".
	Kind string
	// IntentID overrides the call's.
	IntentID string
	Detail   map[string]any
	// Edit is the change of a governance file that the record tells of.
	Edit *Edit
}

// Edit is a change of a governance file, which is no mutation of the workspace. By its hashes it is told after a crash
// whether it happened. Its fields are in the order that a record's detail has.
type Edit struct {
	After  string `json:"after"`  // the hash of the whole file
	Before string `json:"before"` // likewise
	Path   string `json:"path"`
}

// Changed returns the outcomes that changed something.
func (o *Outcome) Changed() []FileOutcome {
	var changed []FileOutcome
	for _, f := range o.Files {
		if f.Op != change.Unchanged {
			changed = append(changed, f)
		}
	}
	return changed
}

// Content is a part of a result beside its text: an image or audio by its MIME type, or, where it has a URI, a resource:
// its text, or its data, or where it has neither a link to it under a name.
type Content struct {
	MIMEType        string
	Data            []byte
	URI, Name, Text string
}

// Result is what goes back to the client.
type Result struct {
	Text    string
	Content []Content
	// Structured is a JSON object that stands for itself without the text.
	Structured json.RawMessage
	// Raw is the result of another server, the whole object as it was sent but for what is added at its end, in place of Text,
	// Content and Structured; nil for a result of this one.
	Raw     json.RawMessage
	IsError bool
	// Refusal is the same for callers in this process; nil where nothing was refused.
	Refusal *refusal.Refusal
	// InLine asks the client's user in place of all of the above.
	InLine *InLine
	// Unanswered: the tool has asked the client's user, and is to be called again with the answer.
	Unanswered bool

	encoded bool
}

// NewResult makes a result of a text and of what encodes as a JSON object.
func NewResult(text string, object any) (Result, error) {
	encoded, err := EncodeJSON(object)
	return Result{Text: text, Structured: encoded, encoded: err == nil}, err
}

// Encoded reports whether NewResult made Structured, so that nobody needs to check it again.
func (r Result) Encoded() bool { return r.encoded }

// Tool is one tool. Its steps are types of their own, so that what has not been judged cannot be executed: only Decode
// makes a Decoded, only Targets a Targeted, only that a Planned, and only the engine calls them, with the gate between.
type Tool interface {
	Spec() Spec
	// Decode reads the arguments, once a call. What is wrong with them is a refusal.
	Decode(args Arguments) (Decoded, error)
}

// Decoded is a call whose arguments have been read.
type Decoded interface {
	// Targets resolves what the arguments name. It reads no content. Faults of a path are its effect's Problem. It is
	// called again where the call is judged anew, after an operator's answer.
	Targets(ctx context.Context, call *Call) (Targeted, error)
}

// Resumption is a call that goes on with another that was made before, and does nothing else.
type Resumption interface {
	Decoded
	// Stored finds that call. It is judged as if it were made now, by this caller.
	Stored(ctx context.Context, call *Call) (*StoredCall, error)
}

// StoredCall is a call that another goes on with.
type StoredCall struct {
	Tool      string
	Arguments Arguments
	// Edited is the call that the operator has put in its place; nil for none.
	Edited *Edited
	// Result makes the other's result of the call's; refusals are passed on as they are.
	Result func(Result) (Result, error)
}

// Targeted is a call whose targets are known and held by open descriptors.
type Targeted interface {
	Effects() Effects
	// Plan reads, matches and computes; it changes nothing. It fills in the effects that Effects returned. With an
	// error that only says that the change does not fit the file, the effects may hold what was read.
	Plan(ctx context.Context) (Planned, error)
	Close() error
}

// Planned is a call that is ready to execute.
type Planned interface {
	// Prepare writes down what was planned, and nothing else, and holds it against other writers. Nothing is visible yet.
	Prepare(ctx context.Context) (Prepared, error)
	// Result renders the outcome after it was recorded.
	Result(outcome *Outcome) (Result, error)
}

// Prepared is a call one step before its effect. Between its two steps the engine puts what will have happened into the
// journal, so that a crash at any moment leaves no change unexplained. Exactly one of Commit and Discard is called.
type Prepared interface {
	// Pending says what Commit will do to the workspace; nil if it changes nothing there. A tool that changes files and
	// says nil has its changes recorded, but not if it is killed before.
	Pending() *Pending
	// Commit takes effect. It returns the outcome of Pending completed, or one of its own. After an error nothing has
	// changed, unless the error is a workspace.RollbackError.
	Commit(ctx context.Context) (*Outcome, error)
	Discard() error
}

// Pending is what is about to happen, for the journal.
type Pending struct {
	// Outcome is what will have happened if all goes well. A command's holds what is known beforehand.
	Outcome *Outcome
	// Files names the temporary files, as workspace.Prepared.Plan gives them; empty for a command.
	Files []change.Planned
	// Before tells what a command's changes are found from after a crash; see pkg/snapshot.
	Before []byte
	// Ends are those of the ledger when that was seen; without them the times of records have to do.
	Ends []string
}

// Immediate is the short way of a call that changes nothing in the workspace: run is all that it does.
func Immediate(run func(context.Context) (*Outcome, error)) Prepared { return immediate(run) }

type immediate func(context.Context) (*Outcome, error)

var _ Prepared = immediate(nil)

func (immediate) Pending() *Pending                                { return nil }
func (run immediate) Commit(ctx context.Context) (*Outcome, error) { return run(ctx) }
func (immediate) Discard() error                                   { return nil }

// Schema gives a JSON Schema 2020-12 with root type object. It is asked for
// when somebody wants to see it, and may be made then.
type Schema func() json.RawMessage

// SchemaText is a schema that is there; nil for "".
func SchemaText(text string) Schema {
	if text == "" {
		return nil
	}
	return func() json.RawMessage { return json.RawMessage(text) }
}

// JSON is the schema, nil for none.
func (s Schema) JSON() json.RawMessage {
	if s == nil {
		return nil
	}
	return s()
}

// Spec is what tools/list says of a tool. OutputSchema may be nil; ResultSchema is all that is known of a success, of which
// the list tells the least, or nil.
type Spec struct {
	Name, Title, Description string
	Class                    Class
	InputSchema              Schema
	OutputSchema             Schema
	ResultSchema             Schema
	ReadOnly                 bool
	Idempotent               bool
	OpenWorld                bool
	// Asks: the tool is of no use to a client that cannot ask its user.
	Asks bool
	// Selects marks the tool that makes selections; pipelined calls behind it wait for it.
	Selects bool
	// Names are what the tool calls the common arguments; nil for CommonNames.
	Names *Names
}

// CommonNames are what the tool calls the common arguments.
func (s *Spec) CommonNames() Names {
	if s.Names == nil {
		return CommonNames()
	}
	return *s.Names
}

// Cancelled is the result of a call that was cancelled before it could start.
func Cancelled(class Class) Result {
	return refuse(class, refusal.New(refusal.Cancelled, "The call was cancelled before it started."))
}

// EncodeJSON encodes without HTML escaping, which would cost agents tokens and make code unreadable.
func EncodeJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func refuse(class Class, r *refusal.Refusal) Result {
	object, err := EncodeJSON(r.Object(string(class)))
	if err != nil {
		// Only a detail can fail to marshal; the refusal stands without it.
		object, _ = EncodeJSON(refusal.New(r.Code(), r.Reason()).Object(string(class)))
	}
	return Result{Text: string(object), Structured: object, IsError: true, Refusal: r}
}
