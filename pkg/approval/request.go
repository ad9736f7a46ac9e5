package approval

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Lifetime is how long a request waits for an answer.
const Lifetime = 24 * time.Hour

// Request is one thing that an agent asks for. Its texts are the agent's: show them through [ViewOf].
type Request struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`

	// Principal is the hash of who the transport authenticated, "" where it authenticates nobody; see [PrincipalMark].
	// Session is the public id of the session that asked, "" if it had none.
	Principal string `json:"principal,omitempty"`
	Session   string `json:"session,omitempty"`
	// Client is what the client calls itself.
	Client string `json:"client,omitempty"`

	IntentID      string `json:"intent_id,omitempty"`
	IntentName    string `json:"intent_name,omitempty"`
	IntentVersion string `json:"intent_version,omitempty"`

	// Checks are what stopped the call.
	Checks  []Check  `json:"checks,omitempty"`
	Effects []Effect `json:"effects,omitempty"`
	// Diffs are what the call would change in files, as computed by the server, bounded.
	Diffs []FileDiff `json:"diffs,omitempty"`
	// Once says that the request can be approved once only, and OnceWhy why.
	Once    bool   `json:"once,omitempty"`
	OnceWhy string `json:"once_why,omitempty"`

	// Digest names exactly this call; see [Request.ComputeDigest].
	Digest string `json:"digest,omitempty"`
	// Arguments are the call's, for resume_approval, without its session handle; empty if they were too large to keep.
	Arguments json.RawMessage `json:"arguments,omitempty"`

	// SessionArgument is what the tool calls the argument with the session handle, "" for session.
	SessionArgument string `json:"session_argument,omitempty"`
	// Sent are the arguments that would go to another server, bounded, and SentSize all their bytes. They repeat for people what
	// Effects have the digest of.
	Sent     string `json:"sent,omitempty"`
	SentSize int    `json:"sent_size,omitempty"`

	// ByClient: the client makes the call by itself, with a tool of its own.
	ByClient bool `json:"by_client,omitempty"`
	// Asked is the call that an agent asked for, where this is what the operator has made of it and a check stands against
	// that which the operator was not asked about before; nil for a call as it was asked for.
	Asked *Asked `json:"asked,omitempty"`

	// Name is that of an intent that is proposed, Paths are the globs that an intent would own as well, and Reason is the
	// agent's. They repeat for people what Effects say, and are no part of the digest.
	Name   string   `json:"name,omitempty"`
	Paths  []string `json:"paths,omitempty"`
	Reason string   `json:"reason,omitempty"`

	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

// Asked is a call as an agent asked for it: the request's id, its digest and the call.
type Asked struct {
	ID     string `json:"id"`
	Digest string `json:"digest"`
	Edit
}

// Check is one reason why a call was stopped.
type Check struct {
	// Hook is the check that failed.
	Hook string `json:"hook"`
	// ErrorType is the refusal's code, Reason its sentence.
	ErrorType string `json:"error_type"`
	Reason    string `json:"reason"`
	// Paths are the resolved paths that it is about; empty for a command.
	Paths []string `json:"paths,omitempty"`
}

// Effect is one thing that a call would do, as resolved by the server.
type Effect struct {
	// Kind is create, modify, delete, move, read, command, select, upstream or content: a file that the line of a command names,
	// with what it holds, which the approval is about.
	Kind string `json:"kind"`
	// Path is the file, or the source of a move; To is where that leads.
	Path string `json:"path,omitempty"`
	To   string `json:"to,omitempty"`
	// Before and After are content hashes, "" where there is no file.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`

	// More counts the files that a line names whose contents are not covered.
	More int `json:"more,omitempty"`

	// Line is a command line, Cwd its resolved directory.
	Line       string        `json:"line,omitempty"`
	Cwd        string        `json:"cwd,omitempty"`
	Shell      string        `json:"shell,omitempty"`
	Timeout    time.Duration `json:"timeout,omitempty"`
	Background bool          `json:"background,omitempty"`

	// Server and Tool are another server, by the operator's name for it, and its tool, by its own; Definition is the hash of
	// what that server said of the tool, and Arguments that of what it is given.
	Server     string `json:"server,omitempty"`
	Tool       string `json:"tool,omitempty"`
	Definition string `json:"definition,omitempty"`
	Arguments  string `json:"arguments,omitempty"`
}

// KindUpstream is the kind of an effect that is a call of another server.
const KindUpstream = "upstream"

// upstream is the call of another server that the request is about.
func (r Request) upstream() (Effect, bool) {
	i := slices.IndexFunc(r.Effects, func(e Effect) bool { return e.Kind == KindUpstream })
	if i < 0 {
		return Effect{}, false
	}
	return r.Effects[i], true
}

// KindContent is the kind of an effect that is none: what a file holds that the line of a command names.
const KindContent = "content"

// changes reports whether an effect is a change.
func (e Effect) changes() bool { return e.Kind != "read" && e.Kind != KindContent }

// changed are the files of a change, the source of a move first.
func (e Effect) changed() []string {
	switch {
	case !e.changes(), e.Kind == "command", e.Kind == "select", e.Kind == KindUpstream:
		return nil
	case e.To != "":
		return []string{e.Path, e.To}
	}
	return []string{e.Path}
}

// FileDiff is what would become of one file.
type FileDiff struct {
	Path string `json:"path"`
	// Note says what the hunks do not, such as that a file is binary.
	Note string `json:"note,omitempty"`
	// Hunks are those of a unified diff, without its header, bounded; Size and Lines count the whole of them.
	Hunks string `json:"hunks,omitempty"`
	Size  int    `json:"size,omitempty"`
	Lines int    `json:"lines,omitempty"`
}

// ComputeDigest is SHA-256 over the canonical JSON of who asks (the principal), the tool, the effects with their paths
// as resolved and the hashes of their files, the intent with its version, and the names of the checks that failed: an
// approval of one call is none of a call that differs in any of these.
func (r Request) ComputeDigest() string {
	type check struct{ Hook, Rule, ErrorType string } // of earlier versions: no Rule was ever set
	canonical := struct {
		Version                           int
		Principal, Tool, Intent, IntentAt string
		Checks                            []check
		Effects                           []Effect
	}{2, r.Principal, r.Tool, r.IntentID, r.IntentVersion, nil, r.Effects}
	for _, c := range r.Checks {
		canonical.Checks = append(canonical.Checks, check{Hook: c.Hook, ErrorType: c.ErrorType})
	}
	encoded, err := json.Marshal(canonical)
	if err != nil {
		return "" // matches nothing: strings and numbers always marshal
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(encoded))
}

// ErrorType is that of the first check.
func (r Request) ErrorType() string {
	if len(r.Checks) == 0 {
		return ""
	}
	return r.Checks[0].ErrorType
}

// About are the paths that the request is about: those of its checks, else those that it would change.
func (r Request) About() (paths []string) {
	for _, c := range r.Checks {
		for _, p := range c.Paths {
			if !slices.Contains(paths, p) {
				paths = append(paths, p)
			}
		}
	}
	if len(paths) > 0 {
		return paths
	}
	for _, e := range r.Effects {
		paths = append(paths, e.changed()...)
	}
	return paths
}

// Path is the first path that the request is about; "" for a command.
func (r Request) Path() string {
	for _, c := range r.Checks {
		if len(c.Paths) > 0 {
			return c.Paths[0]
		}
	}
	for _, e := range r.Effects {
		if e.Line == "" && e.Kind != KindUpstream && e.changes() {
			return e.Path
		}
	}
	if len(r.Paths) > 0 {
		return r.Paths[0]
	}
	return ""
}

// CommandLine is the command that the call would run; "" if it runs none.
func (r Request) CommandLine() string {
	for _, e := range r.Effects {
		if e.Line != "" {
			return e.Line
		}
	}
	return ""
}

// Subject tells a request from others of its kind, in one line: the command and where it runs, what is proposed and why,
// the other server with its tool and arguments, or the files with the lines that they gain and lose.
func (r Request) Subject() string {
	if len(r.Paths) > 0 {
		return strings.TrimSpace(strings.TrimPrefix(r.Name+": ", ": ")+strings.Join(r.Paths, ", ")) + because(r.Reason)
	}
	if u, is := r.upstream(); is {
		return u.Server + " " + u.Tool + " " + r.Sent
	}
	for _, e := range r.Effects {
		switch {
		case e.Line == "":
		case e.Cwd == "" || e.Cwd == ".":
			return e.Line
		default:
			return e.Line + " (in " + e.Cwd + ")"
		}
	}
	subject := r.Path()
	added, removed := 0, 0
	for _, d := range r.Diffs {
		for line := range strings.Lines(d.Hunks) {
			switch line[0] {
			case '+':
				added++
			case '-':
				removed++
			}
		}
	}
	files := 0
	for _, e := range r.Effects {
		if len(e.changed()) > 0 {
			files++
		}
	}
	if files > 1 {
		subject += fmt.Sprintf(" and %d more", files-1)
	}
	if added+removed > 0 {
		subject += fmt.Sprintf(" (+%d −%d)", added, removed)
	}
	return subject
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " — " + reason
}

// PrincipalMark is how a principal is kept in a file: it may be a credential.
func PrincipalMark(principal string) string {
	if principal == "" {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(principal)))
}
