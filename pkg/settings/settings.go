package settings

import (
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/rule"
)

// Settings is everything that an operator can set. Defaults has the values of a machine without any file. The key of a
// field is its path in lower case with underscores, so Approvals.ScopeViolation is approvals.scope_violation; Keys
// describes each.
type Settings struct {
	Uninitialized Choice // Refuse, Allow: destructive calls in a workspace without active_intents.yaml
	Transport     Choice // TransportStdio, TransportHTTP, TransportSSE
	Sandbox       Choice // Off, Best, RequireLandlock, Require
	MutationClass Choice // Record, Warn, Enforce: a declared refactor that is not proven
	Durability    Choice // OS, Full

	Scope     Scope
	Tools     Tools
	Results   Results
	Write     Write
	Diff      Diff
	Approvals Approvals
	Commands  Commands
	Ledger    Ledger
	Undo      Undo
	Session   Session
	Auth      Auth
	HTTP      HTTP
	Brain     Brain
	Lessons   Lessons
	Limits    Limits
	Log       Log

	Rules  []Rule
	Checks []Check
	Hooks  []Hook
}

// Confinement is what the settings want of the sandbox, of a machine with the ability; nil is this one.
func (s Settings) Confinement(ability func() sandbox.Ability) sandbox.Want {
	want := sandbox.Want{Off: s.Sandbox == Off, AtLeast: sandbox.None, Ability: ability}
	switch s.Sandbox {
	case Require:
		want.AtLeast = sandbox.Full
	case RequireLandlock:
		want.AtLeast = sandbox.Landlock
	}
	return want
}

// Choice is a value of a fixed set; which ones a key takes stands in Keys.
type Choice string

// The values of the fields of type Choice.
const (
	Allow           Choice = "allow"
	Ask             Choice = "ask"
	Auto            Choice = "auto"
	Best            Choice = "best"
	Degraded        Choice = "degraded"
	Deny            Choice = "deny"
	Elicit          Choice = "elicit"
	Enforce         Choice = "enforce"
	Full            Choice = "full"
	Never           Choice = "never"
	Off             Choice = "off"
	On              Choice = "on"
	OS              Choice = "os"
	Record          Choice = "record"
	Ref             Choice = "ref"
	Refuse          Choice = "refuse"
	Require         Choice = "require"
	RequireLandlock Choice = "require-landlock"
	Sessions        Choice = "sessions"
	Short           Choice = "short"
	Single          Choice = "single"
	Tree            Choice = "tree"
	Trust           Choice = "trust"
	Warn            Choice = "warn"

	TransportStdio Choice = "stdio"
	TransportHTTP  Choice = "http"
	TransportSSE   Choice = "sse"

	LevelDebug Choice = "debug"
	LevelInfo  Choice = "info"
	LevelWarn  Choice = "warn"
	LevelError Choice = "error"

	EventPre  Choice = "pre"
	EventPost Choice = "post"
)

// Scope is how intents without owned_scope are taken.
type Scope struct {
	Required bool // an intent without owned_scope allows nothing
}

// Tools is what is offered to agents.
type Tools struct {
	RooAliases bool // also offer edit and search_replace
}

// Results is how results are written.
type Results struct {
	Text Choice // Full, Short: what stands in the text as well as in structuredContent
}

// Write is how write_to_file treats existing files.
type Write struct {
	Blind Choice // Refuse, Allow: overwriting a file that the session has not read
}

// Diff is how edits are matched.
type Diff struct {
	Threshold float64 // similarity that a fuzzy match needs; 1 is off
}

// Approvals is what the operator is asked, and how long is waited.
type Approvals struct {
	ScopeViolation Choice // Refuse, Elicit, Ask
	MissingIntent  Choice // Refuse, Elicit, Ask
	IgnoredPath    Choice // Refuse, Elicit, Ask
	ProgramConfig  Choice // Refuse, Elicit, Ask
	SelectIntent   Choice // Never, Ask
	Wait           time.Duration
	Lifetime       time.Duration // of an approve_once that was not used
}

// Commands is what execute_command may do.
type Commands struct {
	Default          Choice // Allow, Ask, Deny: what no rule names
	Unjudged         Choice // Auto, Allow, Ask, Deny: what cannot be read
	Allow            []CommandRule
	Ask              []CommandRule
	Deny             []CommandRule
	Network          Choice // Allow, Deny
	Git              Choice // Allow, Trust, Deny: whether git commands may write .git
	Writable         []string
	RevertViolations bool
	Timeout          time.Duration
	MaxTimeout       time.Duration
	Env              []string // names or globs of variables that pass although they look like secrets
	OutputCap        Size
	OutputTotal      Size
	MaxProcesses     int // of one command at a time
}

// Ledger is how the record is kept.
type Ledger struct {
	Layout      Choice // Single, Sessions
	Git         Choice // Ref, Tree, Off
	Withhold    []string
	SegmentSize Size
	RecordReads bool
	Marks       Choice // On, Off
	OnFailure   Choice // Refuse, Degraded
}

// Undo is how long contents are kept to take changes back.
type Undo struct {
	KeepSize Size // of all of them on disk; 0 keeps none
	KeepAge  time.Duration
}

// Session is the life of what an agent has selected and seen.
type Session struct {
	Idle time.Duration
}

// Auth is who may use the HTTP transports.
type Auth struct {
	Token string // empty: one is generated at start
}

// HTTP is how the HTTP transports listen.
type HTTP struct {
	Listen         string
	AllowedHosts   []string
	AllowedOrigins []string
	TLSCert        string
	TLSKey         string
	Insecure       bool
}

// Brain is the shared notes of agents.
type Brain struct {
	File string // workspace-relative
}

// Lessons is what is noted without an agent's asking.
type Lessons struct {
	FailedChecks   bool
	FailedCommands bool
	RefusedCalls   bool
}

// Limits bounds what one call may take.
type Limits struct {
	FileSize    Size
	RequestSize Size
	ContextSize Size
	Rate        int // requests a second of one client over HTTP
}

// Log is what goes to standard error.
type Log struct {
	Level Choice // LevelDebug, LevelInfo, LevelWarn, LevelError
}

// Size is a number of bytes. Files may write it with KiB, MiB or GiB.
type Size int64

// CommandRule names commands by program and first arguments.
type CommandRule struct {
	Prefix   string   // "git push"
	Match    []string // command lines that the rule must match, checked when it is loaded
	NotMatch []string // command lines that it must not match
}

// Compile returns the rule after holding it to its examples.
func (r CommandRule) Compile() (policy.Rule, error) {
	rule, err := policy.Parse(r.Prefix)
	if err != nil {
		return policy.Rule{}, err
	}
	return rule, rule.Check(r.Match, r.NotMatch)
}

// Rule is a condition that refuses or asks.
type Rule struct {
	Name    string
	When    string // a CEL expression
	Action  Choice // Refuse, Ask
	Message string
}

// Compile makes the rule one that can be evaluated.
func (r Rule) Compile() (*rule.Rule, error) {
	return rule.Compile(r.Name, r.When, rule.Action(r.Action), r.Message)
}

// Check is a program that looks at files after they were written.
type Check struct {
	Paths   string // a scope glob
	Command string // a shell line
}

// Hook is a program that is asked before, or told after, a call.
type Hook struct {
	Event   Choice   // EventPre, EventPost
	Command string   // a shell line
	Tools   []string // patterns over names, as Write|Edit; empty: all destructive ones
	Timeout time.Duration
}
