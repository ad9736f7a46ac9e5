package settings

import (
	"cmp"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/auth"
	"github.com/intentgov/orchestra-mcp/pkg/command/policy"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/rule"
)

// Settings is everything that an operator can set, and the one table of it: what reads files, what describes the settings
// and docs/settings.md are made of its tags. The key of a field is its path in lower case with underscores, so
// Approvals.ScopeViolation is approvals.scope_violation; the keys are documented in the order of the fields.
//
//	default  as a file would say it; the zero value where it is missing
//	choices  what a Choice can be
//	range    "low..high", or "1.."
//	check    which further check a value has to pass (checks)
//	order    what a workspace that is not trusted may do: free; fixed, nothing; true, false, more, less: only what is
//	         stricter; grants, programs: entries give something; restricts: they take something; fewer: a list of which a
//	         stronger source's takes the place, and that may only get shorter; or the choices from the loosest to the strictest
//	secret   it is not shown
//	before   it is documented before that key
//	doc, example
type Settings struct {
	Uninitialized Choice `default:"refuse" choices:"refuse, allow" order:"allow<refuse" doc:"Changes in a workspace without active_intents.yaml. allow records them as UNTRACKED once there is a .orchestration directory; before, not at all."`
	Scope         struct {
		Required bool `order:"true" doc:"An intent without owned_scope allows no change at all. Otherwise it has no scope restriction, with a warning."`
	}
	Write struct {
		Blind Choice `default:"refuse" choices:"refuse, allow" order:"allow<refuse" doc:"write_to_file over a file whose lines the session has not all seen, without its hash."`
	}
	Diff struct {
		Threshold float64 `default:"1" order:"more" range:"0.5..1" doc:"How similar a text must be to the search text of a diff that matches nothing exactly. 1 is exact matching only."`
	}
	MutationClass Choice `default:"warn" choices:"record, warn, enforce" order:"record<warn<enforce" doc:"A declared refactor that cannot be proven one is recorded as INTENT_EVOLUTION; warn says so in the result, enforce refuses the call."`
	Tools         Tools
	Results       struct {
		Text Choice `default:"full" choices:"full, short" order:"free" doc:"How much of a large result stands in its text; structuredContent has all. short is for clients that show their model both."`
	}
	Rules     []Rule `order:"restricts" check:"rules" doc:"Conditions over every call, in CEL; action is refuse or ask. They add to those of the intents." example:"{name: no-eval, when: 'effect.after.contains(\"eval(\")', action: refuse, message: \"Do not use eval.\"}"`
	Approvals struct {
		ScopeViolation Choice        `default:"elicit" choices:"refuse, elicit, ask" order:"ask<elicit<refuse" doc:"A change outside the intent's scope. elicit asks if the client can show a form, ask asks in any way there is."`
		MissingIntent  Choice        `default:"refuse" choices:"refuse, elicit, ask" order:"ask<elicit<refuse" doc:"A change without a selected intent. What the operator approves is recorded as UNTRACKED."`
		IgnoredPath    Choice        `default:"refuse" choices:"refuse, elicit, ask" order:"ask<elicit<refuse" doc:"A change of a path that .intentignore excludes."`
		ProgramConfig  Choice        `default:"ask" choices:"refuse, elicit, ask" order:"ask<elicit<refuse" doc:"A change of a file that makes other programs run code or grants rights (.mcp.json, .vscode/, .envrc, …)."`
		SelectIntent   Choice        `default:"never" choices:"never, ask" order:"never<ask" doc:"Whether the operator is asked when an agent selects an intent."`
		Wait           time.Duration `default:"30s" order:"free" range:"0s..1h" doc:"How long a call waits for the operator before it returns APPROVAL_REQUIRED."`
		Lifetime       time.Duration `default:"15m" order:"less" range:"1s..168h" doc:"How long an approval for one call can be used."`
		Notify         []Notice      `order:"programs" check:"notify" doc:"What tells you of a new request: a command, by JSON on standard input, or a url (https, or local http), by POST." example:"{command: 'notify-send \"$APPROVAL_TITLE\"'}"`
	}
	Sandbox    Choice `before:"commands.network" default:"best" choices:"off, best, require-landlock, require" order:"off<best<require-landlock<require" doc:"How commands are confined: best takes the highest level that works here, require refuses below the full level, require-landlock below Landlock."`
	Commands   Commands
	Durability Choice `default:"full" choices:"os, full" order:"os<full" doc:"full flushes a change and its record to disk before the call returns; with os a power cut can lose the last."`
	Ledger     struct {
		Layout      Choice   `default:"single" choices:"single, sessions" order:"free" doc:"One ledger file, or one a session, which never conflict in git."`
		Git         Choice   `default:"ref" choices:"ref, tree, off" order:"free" doc:"How the ledger of a new workspace travels with git: ref keeps it beside the tree and sends it in refs/orchestra/ledger, tree commits it, off sends nothing. One in the tree stays there until orchestra-mcp ledger move."`
		Withhold    []string `order:"restricts" check:"withheld" doc:"What of the ledger stays on this machine when the rest is sent: reads, decisions, lessons, marks. In the place of such a record goes what the chain needs. With marks, new records have none, and one that has some stays here." example:"\"decisions\""`
		SegmentSize Size     `default:"16MiB" order:"free" range:"1MiB..256MiB" doc:"The length at which a ledger file, but for its last eighth, is compressed into .orchestration/archive/."`
		RecordReads bool     `order:"true" doc:"Also record which files an agent has read."`
		Marks       Choice   `default:"on" choices:"on, off" order:"off<on" doc:"A short hash of each line that a change wrote, by which blame and gate find it again. Whoever has the ledger can test whether a certain line was written; secret: files have none."`
		OnFailure   Choice   `default:"refuse" choices:"refuse, degraded" order:"degraded<refuse" doc:"Changes when the ledger cannot be written. degraded lets them through, with a warning and a counted gap, which verify finds until you seal it."`
	}
	Undo  Undo
	Brain struct {
		File string `default:".orchestration/AGENT.md" order:"fixed" check:"brain" doc:"The Markdown file of the workspace that keeps lessons, decisions and constraints, such as CLAUDE.md."`
	}
	Lessons   Lessons
	Transport Choice `default:"stdio" choices:"stdio, http, sse" order:"fixed" doc:"How clients connect. sse is for older clients."`
	Auth      struct {
		Token    string      `order:"fixed" check:"token" secret:"true" doc:"The operator's bearer token for HTTP, at least 16 characters. Without one, auth.tokens and auth.issuer, one is made, kept in the file token beside your settings, and shown at each start."`
		Tokens   []AuthToken `order:"grants" check:"tokens" secret:"true" doc:"More bearer tokens, by name. role is agent (if left out), operator or auditor (docs/transports.md); expires is a time, or a date, which ends it at its begin in UTC." example:"{name: ci, token: \"0123456789abcdef\", role: agent, expires: \"2030-01-01\"}"`
		Issuer   string      `order:"fixed" check:"identifier" doc:"The OAuth authorization server, exactly as its metadata names it: https, or http on this machine."`
		Resource string      `order:"fixed" check:"identifier" doc:"The address of /mcp by which clients know this server: the audience of auth.issuer's tokens. Without one, where it listens, if that is loopback (with sse, without /mcp)."`
	}
	HTTP    HTTP
	Session struct {
		Idle time.Duration `default:"24h" order:"less" range:"1m..8760h" doc:"How long a session handle lives without a call."`
	}
	Limits struct {
		FileSize    Size `default:"32MiB" order:"less" range:"1KiB..1GiB" doc:"The largest file that the file tools read or write."`
		RequestSize Size `default:"16MiB" order:"less" range:"64KiB..1GiB" doc:"The largest message of a client."`
		ContextSize Size `default:"24KiB" order:"free" range:"1KiB..1MiB" doc:"The largest context of select_active_intent."`
		Rate        int  `default:"100" order:"less" range:"1.." doc:"How many requests a second one client may send over HTTP."`
	}
	Log struct {
		Level Choice `default:"info" choices:"debug, info, warn, error" order:"free" doc:"What is logged on standard error."`
	}
	Telemetry struct {
		Endpoint URL  `order:"fixed" check:"endpoint" doc:"Where traces and metrics go, by OTLP over HTTP (https, or http on this machine), such as http://127.0.0.1:4318; /v1/traces and /v1/metrics are added. Without it nothing is sent, whatever the environment says; with it OTEL_EXPORTER_OTLP_HEADERS counts."`
		Paths    bool `order:"false" doc:"Put the paths of files and the lines of commands into traces. Contents never are."`
	}
	Checks  []Check  `order:"programs" check:"checks" doc:"Programs that look at files after a change of one that paths, a scope glob, matches, once a call, for commands.timeout at most. An exit code other than 0 means problems, and the agent gets the output." example:"{paths: \"**/*.go\", command: \"go vet ./...\"}"`
	Hooks   []Hook   `order:"programs" check:"hooks" doc:"Programs that are asked before a call (event pre) or told after it (event post), in the JSON shape of Claude Code's hooks (docs/rules.md). tools are names or patterns of names, ours (write_to_file) or that shape's (Write|Edit); without them, every tool that changes something. timeout is 1m if left out, 10m at most." example:"{event: pre, command: \"~/.orchestra-hooks/guard.sh\", tools: [\"Write|Edit\", Bash], timeout: 10s}"`
	Servers []Server `order:"programs" doc:"Other MCP servers, whose tools are offered under the same law (docs/servers.md): by a command with args and env, or a url. Their tools are called NAME_TOOL, or by prefix. tools and safe are patterns of a server's own names, ! takes away; what is not safe counts as a change. mapping (filesystem, memory, everything, sequential-thinking, playwright) and effects say which arguments are paths, commands and URLs. workspace is read or write, show tools or search, findings warn, ask or refuse; writable, contents and timeout (2m) are as there." example:"{name: memory, command: npx, args: [-y, \"@modelcontextprotocol/server-memory\"], mapping: memory, safe: [\"read_*\"]}"`
}

// Commands is what execute_command may do.
type Commands struct {
	Default          Choice        `default:"allow" choices:"allow, ask, deny" order:"allow<ask<deny" doc:"A command that no rule names."`
	Unjudged         Choice        `default:"auto" choices:"auto, allow, ask, deny" order:"allow<auto<ask<deny" doc:"A command that hides what it runs or writes. auto allows it at level landlock or full where no rule asks or denies and commands.default is allow, and asks otherwise. allow runs it whatever the rules say."`
	Allow            []CommandRule `order:"grants" check:"commands" doc:"Commands that pass, by program and first arguments. match and not_match are lines that the rule must and must not match." example:"{prefix: \"go test\", match: [\"go test ./...\"], not_match: [\"go run .\"]}"`
	Ask              []CommandRule `order:"restricts" check:"commands" doc:"Commands that the operator is asked about. The strictest of all matching rules holds." example:"\"npm install\""`
	Deny             []CommandRule `order:"restricts" check:"commands" doc:"Commands that are refused." example:"\"git push\""`
	Timeout          time.Duration `default:"2m" order:"less" range:"1s..24h" doc:"The timeout of a command for which the agent gives none."`
	MaxTimeout       time.Duration `default:"30m" order:"less" range:"1s..24h" doc:"The longest timeout that an agent can ask for."`
	OutputCap        Size          `default:"64MiB" order:"less" range:"64KiB..16GiB" doc:"How much of one command's output is kept for read_command_output."`
	OutputTotal      Size          `default:"512MiB" order:"less" range:"1MiB..1024GiB" doc:"How much output is kept in all; the oldest goes first."`
	MaxProcesses     int           `default:"2048" order:"less" range:"1.." doc:"How many processes a command can have. Where the kernel counts them, threads count too."`
	Stage            Choice        `default:"auto" choices:"auto, always, never" order:"never<auto<always" doc:"Whether commands work on layers of their own. auto: where they can. always refuses others. never: only where an agent asks."`
	Network          Choice        `default:"allow" choices:"allow, deny" order:"allow<deny" doc:"Whether commands may connect. An intent can deny it for itself."`
	Git              Choice        `default:"allow" choices:"allow, trust, deny" order:"trust<allow<deny" doc:"Whether a line with a git command may write .git, but for hooks, configuration and links to other repositories. trust: also where the sandbox cannot tell these apart."`
	Writable         []string      `order:"grants" doc:"More places that commands may write, whatever the scope. Those of known toolchains are found." example:"\"build/\""`
	Seatbelt         bool          `order:"fixed" doc:"On macOS, hold commands by Seatbelt, at level seatbelt, where a trial finds that it holds. It satisfies no sandbox: require."`
	RevertViolations bool          `order:"true" doc:"Undo what a command changed out of scope. It is recorded either way."`
	Env              []string      `order:"grants" doc:"Environment variables, or globs of them, that commands get although they look like secrets." example:"\"NPM_TOKEN\""`
}

// HTTP is how the HTTP transports listen.
type HTTP struct {
	Listen         string   `default:"127.0.0.1:7428" order:"fixed" check:"listen" doc:"Address and port of the HTTP transports. An address that is not loopback needs TLS or http.insecure."`
	AllowedHosts   []string `order:"grants" doc:"Host headers that are accepted beside the loopback, the address reached, and the names in http.listen, auth.resource and the TLS certificate. Without a port, every port." example:"\"mcp.example.com\""`
	AllowedOrigins []string `order:"grants" doc:"Origins of web pages that may connect, beside those of the server itself." example:"\"https://app.example.com\""`
	TLSCert        string   `order:"fixed" doc:"File with the certificate chain in PEM form; with http.tls_key it turns on TLS."`
	TLSKey         string   `order:"fixed" doc:"File with the private key in PEM form."`
	Insecure       bool     `order:"false" doc:"Listen without TLS on an address that is not loopback."`
}

// Lessons is what is noted without an agent's asking.
type Lessons struct {
	FailedChecks   bool `default:"true" order:"free" doc:"Note what a check finds as a lesson on the file (docs/tools.md)."`
	FailedCommands bool `order:"free" doc:"Note a command that fails as a lesson."`
	RefusedCalls   bool `order:"free" doc:"Note a call that the rules of the workspace refused as a lesson."`
}

// Undo is how long contents are kept to take changes back.
type Undo struct {
	KeepSize Size          `default:"256MiB" order:"fixed" range:"0..1024GiB" doc:"How much disk contents before and after changes may take, for undo and blame; the oldest go first. With 0 both have what git has."`
	KeepAge  time.Duration `default:"720h" order:"fixed" range:"1h..87600h" doc:"How long these contents are kept."`
}

// Confinement is what the settings want of the sandbox, of a machine with the ability; nil is this one.
func (s Settings) Confinement(ability func() sandbox.Ability) sandbox.Want {
	want := sandbox.Want{Off: s.Sandbox == Off, AtLeast: sandbox.None, Ability: s.Ability(ability)}
	switch s.Sandbox {
	case Require:
		want.AtLeast = sandbox.Full
	case RequireLandlock:
		want.AtLeast = sandbox.Landlock
	}
	return want
}

// Ability is what commands can be held with: an ability that is given, or that of this machine, with Seatbelt only where it is wanted.
func (s Settings) Ability(given func() sandbox.Ability) func() sandbox.Ability {
	switch {
	case given != nil:
		return given
	case s.Commands.Seatbelt && s.Sandbox != Off:
		return sandbox.WithSeatbelt(sandbox.Probe, sandbox.ProbeSeatbelt)
	}
	return sandbox.Probe
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
	Always          Choice = "always"
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
	Read            Choice = "read"
	Write           Choice = "write"
	Search          Choice = "search"
	ToolsShown      Choice = "tools"
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

// Size is a number of bytes. Files may write it with KiB, MiB or GiB.
type Size int64

// CommandRule names commands by program and first arguments.
type CommandRule struct {
	Prefix   string   `required:"true"` // "git push"
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
	Name    string `required:"true"`
	When    string `required:"true"` // a CEL expression
	Action  Choice `choices:"refuse, ask"`
	Message string
}

// Compile makes the rule one that can be evaluated.
func (r Rule) Compile() (*rule.Rule, error) {
	return rule.Compile(r.Name, r.When, rule.Action(r.Action), r.Message)
}

// Check is a program that looks at files after they were written.
type Check struct {
	Paths   string `required:"true"` // a scope glob
	Command string `required:"true"` // a shell line
}

// AuthToken is a bearer token of somebody.
type AuthToken struct {
	Name    string `required:"true"`
	Token   string `required:"true"`
	Role    Choice `choices:"agent, operator, auditor"`
	Expires Expiry
}

// Auth is the token as it is compared.
func (t AuthToken) Auth() auth.Token {
	expires, _ := t.Expires.Time() // which the form has read
	return auth.Token{Name: t.Name, Token: t.Token, Role: cmp.Or(auth.Role(t.Role), auth.Agent), Expires: expires}
}

// Expiry is a date, as 2030-01-01, or a time, as 2030-01-01T12:00:00Z; "" is never.
type Expiry string

// Time is the beginning of a date in UTC; the zero time is never.
func (e Expiry) Time() (time.Time, error) {
	if e == "" {
		return time.Time{}, nil
	}
	if day, err := time.Parse(time.DateOnly, string(e)); err == nil {
		return day, nil
	}
	return time.Parse(time.RFC3339, string(e))
}

// Notice is who is told of a request: a program or a webhook.
type Notice struct {
	Command string // a shell line
	URL     URL
}

// URL is an address that may have a secret in it: shown is only where it leads.
type URL string

// Hook is a program that is asked before, or told after, a call.
type Hook struct {
	Event   Choice   `choices:"pre, post" required:"true"`
	Command string   `required:"true"` // a shell line
	Tools   []string // patterns over names, as Write|Edit; empty: all destructive ones
	Timeout time.Duration
}
