package record

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/intentgov/orchestra-mcp/pkg/change"
)

// Kind says what a record is about.
type Kind string

// The kinds of records.
const (
	KindMutation  Kind = "mutation"  // a tool changed files; an undo is one too
	KindCommand   Kind = "command"   // a command ran, with what it changed and where it left its scope
	KindBuild     Kind = "build"     // changes of a command in the places meant for build output
	KindGit       Kind = "git"       // what git made, in a command, of commits that people made: counted
	KindDecision  Kind = "decision"  // a refusal or an approval
	KindSelection Kind = "selection" // a session selected an intent
	KindLifecycle Kind = "lifecycle" // an intent's status or scope, a lesson
	KindRead      Kind = "read"      // a file was read, where the settings ask for it
	KindRecovered Kind = "recovered" // a mutation that a crash had left unrecorded
)

// Kinds lists every kind, in the order of their documentation.
func Kinds() []Kind {
	return []Kind{KindMutation, KindCommand, KindBuild, KindGit, KindDecision, KindSelection, KindLifecycle, KindRead, KindRecovered}
}

// ChangeKinds lists the kinds that carry changes of files.
func ChangeKinds() []Kind {
	return []Kind{KindMutation, KindCommand, KindBuild, KindRecovered}
}

// Contributor types.
const (
	ContributorAI      = "ai"
	ContributorHuman   = "human"
	ContributorMixed   = "mixed"
	ContributorUnknown = "unknown"
)

// Record is what a caller puts into the ledger. The ledger adds id, time, revision and chain. The zero value of a
// field means that it is not known, and the field is left out of the line.
type Record struct {
	Kind          Kind
	IntentID      string
	MutationClass string // AST_REFACTOR or INTENT_EVOLUTION
	Call          string // the tool's name
	Changes       []Change
	Class         *Class
	Session       string // the session's public id, a lower-case UUID; never its handle
	Contributor   Contributor
	Client        Client
	// Principal is who made the call, or who is at the machine where no transport has authenticated anybody.
	Principal  string
	Decision   *Decision
	Command    *Command
	Violations []Violation
	// Policy is the digest of what the call was judged by, 64 hex digits; see package policies.
	Policy string
	// Judged is what it was judged on, as far as the other fields do not say it.
	Judged *Judged
	// Part is set by the ledger on records that were spread over several lines.
	Part *Part
	// Detail is room for what a kind needs beyond the typed fields. Values are what JSON can hold.
	Detail map[string]any
}

// Change is what happened to one file, as records have it. Bytes are in no record.
type Change struct {
	change.Change
	// Ranges are the lines that were added or changed, by their numbers after the change.
	Ranges []Range
	// Marks has one for each line that the hunks added; nil where none are kept, or where the hunks do not say the lines.
	Marks LineMarks
	// Anchors are near those hunks of whose lines no mark says where they stand.
	Anchors []Anchor
	// ExternalBefore notes that the file differed from its last record: somebody else had changed it.
	ExternalBefore bool
	// Coarse is set by the ledger when hunks and ranges were too many for a line and one of each covers them all.
	Coarse bool
}

// Range is a block of lines, both ends included, 1-based.
type Range struct {
	StartLine   int    `json:"start_line"`
	EndLine     int    `json:"end_line"`
	ContentHash string `json:"content_hash,omitzero"` // sha256:<64 hex> of the lines, LF-joined, no final newline
}

// Class is the mutation class as declared by the agent and as computed by the server.
type Class struct {
	Declared string `json:"declared,omitzero"`
	Computed string `json:"computed,omitzero"`
	Evidence string `json:"evidence,omitzero"` // proven, proven-local, unproven, unsupported
	Reason   string `json:"reason,omitzero"`   // one line, without what the files say
}

// Contributor is who made a change.
type Contributor struct {
	Type    string // one of the Contributor constants; empty is unknown
	ModelID string // models.dev convention, such as anthropic/claude-opus-4-5; empty if not known
	// ModelSource says who told it: _meta, argument, client_info or environment.
	ModelSource string
}

// Client is the program that called, as it names itself.
type Client struct {
	Name    string `json:"name,omitzero"`
	Version string `json:"version,omitzero"`
}

// Decision is a refusal or an approval.
type Decision struct {
	Outcome   string   `json:"outcome"` // refused, asked, approved, denied
	ErrorType string   `json:"error_type,omitzero"`
	Step      int      `json:"step,omitzero"` // of the gate
	Hook      string   `json:"hook,omitzero"`
	Reason    string   `json:"reason,omitzero"`
	Also      []string `json:"also,omitempty"`     // further error types that stood behind the first
	Allowed   []string `json:"allowed,omitempty"`  // the checks that an approval lets pass
	Approval  string   `json:"approval,omitzero"`  // the approval's id
	Paths     []string `json:"paths,omitempty"`    // what the call wanted to touch, as the agent named it
	Principal string   `json:"principal,omitzero"` // who answered
}

// Command is a command that ran.
type Command struct {
	// Command is the line, with what looks like a secret left out if Redacted says so.
	Command    string   `json:"command"`
	Redacted   bool     `json:"redacted,omitzero"`
	Programs   []string `json:"programs,omitempty"` // names of what the line could run
	Unjudged   bool     `json:"unjudged,omitzero"`  // it could run others
	Cwd        string   `json:"cwd,omitzero"`       // relative to the workspace
	ExitCode   int      `json:"exit_code"`
	DurationMS int64    `json:"duration_ms"`
	TimedOut   bool     `json:"timed_out,omitzero"`
	OutputHash string   `json:"output_hash,omitzero"`
	Artifact   string   `json:"artifact,omitzero"`
	Sandbox    string   `json:"sandbox,omitzero"` // the level in force: full, landlock, seatbelt, none
	Background bool     `json:"background,omitzero"`
	Job        string   `json:"job,omitzero"`      // the background command's id, in the records of its start and its end
	Started    bool     `json:"started,omitzero"`  // the record of the start: nothing is known of the end
	EndedBy    string   `json:"ended_by,omitzero"` // why it was ended before it ended by itself
}

// Violation is a change of a command outside the scope of its intent.
type Violation struct {
	Path     string    `json:"path"`
	Op       change.Op `json:"op,omitzero"`
	Reason   string    `json:"reason,omitzero"`
	Reverted bool      `json:"reverted,omitzero"`
	// Kind says what was changed, if it was no content of a file in the workspace: metadata, git, workspace, ledger, or
	// ViolationOutside.
	Kind string `json:"kind,omitzero"`
}

// ViolationOutside is the kind of a violation whose path is not in the workspace: an absolute one, or below ~/.
const ViolationOutside = "outside"

// Part numbers the lines of a record that did not fit into one. Of is the id of the first.
type Part struct {
	Of    string `json:"of"`
	Index int    `json:"index"` // 1-based
	Count int    `json:"count"`
}

// Entry is one line of the ledger.
type Entry struct {
	Record
	ID          string
	Time        time.Time
	Prev        []string // identities of the heads that this line follows, sorted
	Revision    string   // the commit that was checked out; empty without one
	ToolVersion string
	// Files is what the line says in Agent Trace terms. It is there for lines of other tools, and ignored by Encode.
	Files []string
	// Traced is what a line of another tool says of contents: hashes after the change and ranges, as far as they are
	// stated. Nobody has checked it. It is ignored by Encode.
	Traced  []Change
	Related []string // the intents that such a line names beside IntentID

	Hash    string // identity: hex SHA-256 of Raw
	Raw     []byte // the line as read, without its newline; fields that are not ours survive here alone
	Segment string // the file that it was read from, relative to .orchestration
	Offset  int64  // of the line's first byte in the segment
}

// maxPrincipal bounds a principal, in bytes.
const maxPrincipal = 512

// Check reports as ErrInvalidRecord what would make Append refuse the record. A tool calls it before it changes
// anything, so that no change is made that could not be recorded.
func (r Record) Check() error {
	if !slices.Contains(Kinds(), r.Kind) {
		return fmt.Errorf("%w: unknown kind %q", ErrInvalidRecord, r.Kind)
	}
	if r.Session != "" && !isPublicID(r.Session) {
		return fmt.Errorf("%w: the session's public id must be a lower-case UUID", ErrInvalidRecord)
	}
	if len(r.Principal) > maxPrincipal || strings.ContainsFunc(r.Principal, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return fmt.Errorf("%w: a principal has at most %d visible ASCII characters", ErrInvalidRecord, maxPrincipal)
	}
	switch r.Contributor.Type {
	case "", ContributorAI, ContributorHuman, ContributorMixed, ContributorUnknown:
	default:
		return fmt.Errorf("%w: unknown contributor type %q", ErrInvalidRecord, r.Contributor.Type)
	}
	for i := range r.Changes {
		if err := r.Changes[i].check(); err != nil {
			return err
		}
	}
	for _, v := range r.Violations {
		if !isPath(v.Path) && v.Path != "." && v.Kind != ViolationOutside {
			return fmt.Errorf("%w: violation path %q is not inside the workspace", ErrInvalidRecord, v.Path)
		}
	}
	return nil
}

func (c *Change) check() error {
	if !isPath(c.Path) || c.From != "" && !isPath(c.From) {
		return fmt.Errorf("%w: path %q is not a clean path inside the workspace", ErrInvalidRecord, c.Path)
	}
	switch c.Op {
	case change.Created, change.Modified, change.Deleted, change.Moved, change.Unchanged:
	default:
		return fmt.Errorf("%w: %s: unknown op %q", ErrInvalidRecord, c.Path, c.Op)
	}
	if (c.Op == change.Moved) != (c.From != "") {
		return fmt.Errorf("%w: %s: a move, and only a move, names the path it came from", ErrInvalidRecord, c.Path)
	}
	if len(c.Ranges) > 0 && (c.Op == change.Deleted || c.Op == change.Unchanged) {
		return fmt.Errorf("%w: %s: %s files have no ranges", ErrInvalidRecord, c.Path, c.Op)
	}
	for _, h := range []string{c.Before.Hash, c.After.Hash} {
		if h != "" && !isContentHash(h) {
			return fmt.Errorf("%w: %s: %q is not sha256: and 64 hex digits", ErrInvalidRecord, c.Path, h)
		}
	}
	if len(c.Marks) > 0 && len(c.Marks) != added(c.Hunks) {
		return fmt.Errorf("%w: %s: %d marks for %d added lines", ErrInvalidRecord, c.Path, len(c.Marks), added(c.Hunks))
	}
	if err := c.checkModes(); err != nil {
		return err
	}
	for _, r := range c.Ranges {
		if r.StartLine < 1 || r.EndLine < r.StartLine {
			return fmt.Errorf("%w: %s: lines %d to %d are no range", ErrInvalidRecord, c.Path, r.StartLine, r.EndLine)
		}
	}
	return nil
}

func isPath(p string) bool {
	return fs.ValidPath(p) && p != "." && utf8.ValidString(p)
}

func isContentHash(h string) bool {
	digits, ok := strings.CutPrefix(h, "sha256:")
	if !ok || len(digits) != 64 || strings.ToLower(digits) != digits {
		return false
	}
	_, err := hex.DecodeString(digits)
	return err == nil
}

// isPublicID is strict because the id names a file in the layout by sessions.
func isPublicID(id string) bool {
	u, err := uuid.Parse(id)
	return err == nil && u.String() == id
}

// The errors that a caller may test for with errors.Is, by when they occur.
var (
	// ErrInvalidRecord: the record breaks the format (an unknown kind, a path that leaves the workspace, text that
	// is not UTF-8, a range that ends before it starts). Nothing was written. [Record.Check] finds it beforehand.
	ErrInvalidRecord = errors.New("the record cannot be written as given")

	// ErrTooLarge: a record is larger than a line may be, and not because of its changes (those are spread over
	// several lines). Nothing was written.
	ErrTooLarge = errors.New("the record is too large for one ledger line")

	// ErrMalformed: a line is not a record: not JSON, a duplicate key, a field of another type.
	ErrMalformed = errors.New("the line is not a ledger record")
)

// Inverse is the change that leads back. It has no ranges: what its lines are is not known from the change alone.
func (c Change) Inverse() Change { return Change{Change: c.Change.Inverse(), Coarse: c.Coarse} }

// Lines counts the lines that a change added and removed, by its hunks; where it has none, by its ranges. A coarse change
// counts all lines from its first to its last. A line that was edited is one added and one removed.
func (c Change) Lines() (added, removed int) {
	for _, h := range c.Hunks {
		removed += max(h[1], 0)
		added += max(h[3], 0)
	}
	if len(c.Hunks) > 0 {
		return added, removed
	}
	for _, r := range c.Ranges {
		added += max(r.EndLine-r.StartLine+1, 0)
	}
	return added, removed
}

// checkModes: what stood before and what stands after have permissions both, or neither does.
func (c *Change) checkModes() error {
	for _, m := range []change.Mode{c.Before.Mode, c.After.Mode} {
		if _, ok := m.FileMode(); m != "" && !ok {
			return fmt.Errorf("%w: %s: %q is not a mode in four octal digits", ErrInvalidRecord, c.Path, m)
		}
	}
	var wrong bool
	switch c.Op {
	case change.Created:
		wrong = c.Before.Mode != ""
	case change.Deleted:
		wrong = c.After.Mode != ""
	default:
		wrong = (c.Before.Mode == "") != (c.After.Mode == "")
	}
	if wrong {
		return fmt.Errorf("%w: %s: a file that was %s has not the modes %q and %q", ErrInvalidRecord, c.Path, c.Op, c.Before.Mode, c.After.Mode)
	}
	return nil
}

// newMode is the mode after a change as lines have it: left out where it is the one before.
func (c *Change) newMode() change.Mode {
	if c.After.Mode == c.Before.Mode {
		return ""
	}
	return c.After.Mode
}

// modeAfter reads it back.
func (c *changeJSON) modeAfter() change.Mode {
	if c.AfterMode == "" && c.Op != change.Deleted {
		return c.BeforeMode
	}
	return c.AfterMode
}
