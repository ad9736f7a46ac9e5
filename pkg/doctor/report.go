package doctor

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// Status says how a check came out.
type Status string

// The statuses.
const (
	OK   Status = "ok"
	Warn Status = "warn" // works, but probably not as meant, or something should be known
	Fail Status = "fail" // does not work until it is mended
)

// Finding is the result of one check.
type Finding struct {
	Area    string `json:"area"` // what was looked at: workspace, settings, intents, …
	Status  Status `json:"status"`
	Message string `json:"message"`           // one line: what is so, or what is wrong
	Remedy  string `json:"remedy,omitempty"`  // what to do, for people
	Command string `json:"command,omitempty"` // the one command that does it, for a POSIX shell in the workspace
}

// Report is what Run found, in the order in which it looked.
type Report struct {
	Workspace string    `json:"workspace"`
	Version   string    `json:"version"`
	Findings  []Finding `json:"checks"`
}

// Count gives the number of findings with a status.
func (r Report) Count(s Status) (n int) {
	for _, f := range r.Findings {
		if f.Status == s {
			n++
		}
	}
	return n
}

// Options say what is looked at, and with whose eyes.
type Options struct {
	Dir        string   // the workspace's absolute path
	Environ    []string // as KEY=value
	Home       string   // the user's home, empty if unknown
	OS         string   // in Go's words
	SystemDir  string   // of the system's settings
	UserDir    string   // of the user's settings, empty if unknown
	Executable string   // the absolute path of this program
	// Launch is how clients start this program.
	Launch  clientsetup.Launch
	Version string // of this program
	// Self begins the commands of remedies: how a shell calls this program for this workspace.
	Self string
	Now  func() time.Time
	// OurTools are the names of this program's own tools, which no other server's can have.
	OurTools []string
	// MinFree is how many bytes must be free on the workspace's disk; default 128 MiB.
	MinFree int64
	// Hooks starts the clients that are set up here, to see whether their hooks fire; ClientTime is how long one may take,
	// default a minute.
	Hooks      bool
	ClientTime time.Duration
	// Ability is what the sandbox can do here; nil finds it out.
	Ability func() sandbox.Ability
}

// examination collects findings.
type examination struct {
	Options
	ctx    context.Context
	root   *os.Root // the workspace
	home   *os.Root // whose .orchestration has the ledger: the workspace's, or one beside the tree
	report Report
	area   string

	initialized bool // there is a directory to look into
	sandbox     sandbox.Want
	carried     settings.Choice // how the ledger travels with git
	beside      bool            // the ledger stands beside the tree, or will
	hooksSeen   map[string]bool // which hooks of a file were looked at
}

// Run looks at everything. The checks that a new user needs come first.
func Run(ctx context.Context, opts Options) Report {
	if opts.MinFree == 0 {
		opts.MinFree = 128 << 20
	}
	e := &examination{Options: opts, ctx: ctx, sandbox: settings.Defaults().Confinement(opts.Ability), carried: settings.Defaults().Ledger.Git, report: Report{Workspace: opts.Dir, Version: opts.Version}}
	e.in("program", e.checkProgram)
	root, err := os.OpenRoot(opts.Dir)
	if err != nil {
		e.in("workspace", func() string {
			return e.fail(fmt.Sprintf("The workspace cannot be opened: %v.", err), "Give a directory that you can read with --workspace.", "")
		})
		e.in("sandbox", e.checkSandbox)
		return e.report
	}
	defer root.Close()
	e.root, e.home = root, root
	e.in("workspace", e.checkWorkspace)
	e.in("settings", e.checkSettings)
	e.in("servers", e.checkServers)
	if e.beside = locate.WillBeBeside(root, e.carried != settings.Tree); e.beside {
		if beside, err := os.OpenRoot(locate.Beside(e.Dir)); err == nil { // a record has made it
			defer beside.Close()
			e.home = beside
		}
	}
	if e.initialized {
		e.in("intents", e.checkIntents)
		e.in("ledger", e.checkLedger)
		e.in("state", e.checkState)
		e.in("approvals", e.checkApprovals)
	}
	e.in("git", e.checkGit)
	e.in("clients", e.checkClients)
	e.in("files", e.checkFiles)
	e.in("sandbox", e.checkSandbox)
	if opts.Hooks {
		e.in("hooks", e.checkCanaries)
	}
	return e.report
}

// in looks at an area. What check returns is said where it has found nothing to say.
func (e *examination) in(area string, check func() (fine string)) {
	e.area = area
	before := len(e.report.Findings)
	if fine := check(); fine != "" && len(e.report.Findings) == before {
		e.ok("%s", fine)
	}
}

func (e *examination) ok(format string, args ...any) {
	e.report.Findings = append(e.report.Findings, Finding{Area: e.area, Status: OK, Message: fmt.Sprintf(format, args...)})
}

// warn and fail return "": there is nothing fine to say.
func (e *examination) warn(message, remedy, command string) string {
	e.report.Findings = append(e.report.Findings, Finding{e.area, Warn, message, remedy, command})
	return ""
}

func (e *examination) fail(message, remedy, command string) string {
	e.report.Findings = append(e.report.Findings, Finding{e.area, Fail, message, remedy, command})
	return ""
}

// self is a command of this program.
func (e *examination) self(args string) string { return e.Self + " " + args }

func (e *examination) lookup(name string) (string, bool) {
	for i := len(e.Environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(e.Environ[i], name+"="); ok {
			return value, true
		}
	}
	return "", false
}

// number is a count with its noun.
func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// sentence ends a text that may not.
func sentence(text string) string { return strings.TrimSuffix(text, ".") + "." }
