package record

import (
	"reflect"

	"github.com/intentgov/orchestra-mcp/pkg/change"
)

// Judged is what the gate decided a call on, as far as the record does not say it elsewhere: in Changes, of a call that changed
// just what it meant to; in Command; in Class. Texts have no secrets.
type Judged struct {
	// Class is that of the tool: safe or governance; "" is destructive.
	Class string `json:"class,omitzero"`
	// Selection is why the call worked under no selection: expired, mismatch, ended; "" where it did, or none was made.
	Selection string `json:"selection,omitzero"`
	// Elicit: its client could be asked in line.
	Elicit bool `json:"elicit,omitzero"`
	// Asked are the checks that an answer of the operator let through, in the order of the gate.
	Asked []string `json:"asked,omitempty"`
	// Approval is the question that the call led to, or whose answer let this one call through.
	Approval string `json:"approval,omitzero"`
	// Asks: the tool itself has each such call put to the operator.
	Asks bool `json:"asks,omitzero"`
	// Selects is the intent that the call was to select, where the record is of no selection.
	Selects string `json:"selects,omitzero"`
	// Answered: the call went on with one of which everything was asked that is asked of each call of the intent.
	Answered bool `json:"answered,omitzero"`
	// Declared is the mutation class, where the record has no Class.
	Declared string `json:"declared,omitzero"`
	// Files are all that the call meant to touch; none where the record's changes are just these.
	Files []JudgedFile `json:"files,omitempty"`
	// More counts the files that are left out.
	More    int            `json:"more,omitzero"`
	Command *JudgedCommand `json:"command,omitzero"`
	// Upstream is a call of another server.
	Upstream *JudgedUpstream `json:"upstream,omitzero"`
}

// JudgedUpstream is a call of another server as it was judged. Its arguments are in no record.
type JudgedUpstream struct {
	Server   string   `json:"server"`
	Tool     string   `json:"tool"`
	URLs     []string `json:"urls,omitempty"`
	Commands []string `json:"commands,omitempty"` // lines
	Redacted bool     `json:"redacted,omitzero"`  // something is left out of them, or of the URLs
	// Secrets say where the arguments had what looks like one, and OnSecrets what the server's settings made of it.
	Secrets   []string `json:"secrets,omitempty"`
	OnSecrets string   `json:"on_secrets,omitzero"`
}

// JudgedFile is one file that a call meant to touch.
type JudgedFile struct {
	Kind string `json:"kind"` // create, modify, delete, move, read
	Path string `json:"path"` // resolved; as asked for where there is a Problem
	From string `json:"from,omitzero"`
	// Protection is that of the file where it is not what its paths have by themselves; see package workspace.
	Protection string `json:"protection,omitzero"`
	// Problem is the error type of what is wrong with the path whatever the policy says.
	Problem   string `json:"problem,omitzero"`
	Directory bool   `json:"directory,omitzero"`
	// Repositories are the directories that git takes for repositories with the call.
	Repositories []string `json:"repositories,omitempty"`
	// Rehearsed: it was found by a rehearsal of the command; Reproduced: git makes it of people's commits.
	Rehearsed  bool `json:"rehearsed,omitzero"`
	Reproduced bool `json:"reproduced,omitzero"`
	// Cleared: the gate had let a command write it by its name before that ran.
	Cleared bool `json:"cleared,omitzero"`
}

// JudgedCommand is a command as it was judged.
type JudgedCommand struct {
	// Line and Cwd are there where the record has no Command.
	Line       string `json:"line,omitzero"`
	Cwd        string `json:"cwd,omitzero"`
	Redacted   bool   `json:"redacted,omitzero"` // something is left out of Line
	Background bool   `json:"background,omitzero"`
	// Dialect is what the line was read in; "" is bash.
	Dialect string `json:"dialect,omitzero"`
	// Sandbox is the level that the machine has, full, landlock, seatbelt or none, where the record's Command has another one or there
	// is none. Network: at landlock commands can be kept from it.
	Sandbox string `json:"sandbox,omitzero"`
	Network bool   `json:"network,omitzero"`
	// Unread: the line cannot be read again from the record, because of what was left out or its length: Programs and
	// Unjudged are what it was read to be.
	Unread   bool            `json:"unread,omitzero"`
	Programs []JudgedProgram `json:"programs,omitempty"`
	Unjudged []string        `json:"unjudged,omitempty"`
}

// JudgedProgram is a simple command; see package shell.
type JudgedProgram struct {
	Path string      `json:"path"`
	Args []JudgedArg `json:"args,omitempty"`
	In   []string    `json:"in,omitempty"`
}

// JudgedArg is one argument.
type JudgedArg struct {
	Text  string `json:"text,omitzero"`
	Exact bool   `json:"exact,omitzero"`
	Many  bool   `json:"many,omitzero"`
	Open  bool   `json:"open,omitzero"`
}

// The values of Judged.Selection.
const (
	SelectionExpired  = "expired"
	SelectionMismatch = "mismatch"
	SelectionEnded    = "ended"
)

// Implied are the files that a call meant to touch by what its record says beside Files: the directory of its command, or
// what it changed.
func (j *Judged) Implied(r Record) (files []JudgedFile) {
	switch {
	case j != nil && j.Upstream != nil && r.Command != nil:
		return nil // what a server changes is not what it was asked for
	case r.Command != nil:
		return []JudgedFile{{Kind: change.Read.Verb(), Path: r.Command.Cwd, Directory: true}}
	case j != nil && j.Command != nil:
		return []JudgedFile{{Kind: change.Read.Verb(), Path: j.Command.Cwd, Directory: true}}
	}
	for _, c := range r.Changes {
		if c.Op != change.Unchanged {
			files = append(files, JudgedFile{Kind: c.Op.Verb(), Path: c.Path, From: c.From})
		}
	}
	return files
}

// Equal compares all that they say.
func (f JudgedFile) Equal(other JudgedFile) bool { return reflect.DeepEqual(f, other) }

// IsZero reports whether it says nothing.
func (c JudgedCommand) IsZero() bool { return reflect.DeepEqual(c, JudgedCommand{}) }

// IsZero reports whether it says nothing.
func (j Judged) IsZero() bool { return reflect.DeepEqual(j, Judged{}) }
