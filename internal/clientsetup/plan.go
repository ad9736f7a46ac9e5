package clientsetup

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// ServerName is the key under which clients list this server. Clients build tool names from it
// (mcp__orchestra__write_to_file), so it is short.
const ServerName = "orchestra"

// Options say what is set up, and where.
type Options struct {
	// Workspace is the absolute path of the governed directory.
	Workspace string
	// Command is the program that the client starts: the absolute path of this binary, or a name on the PATH.
	Command string
	// Home is the user's home directory, for clients whose configuration is not in the workspace.
	Home string
	// OS is the operating system in Go's words (runtime.GOOS): it decides where Claude Desktop looks.
	OS string
	// LookupEnv reads an environment variable; it is asked for APPDATA and XDG_CONFIG_HOME.
	LookupEnv func(string) (string, bool)
	// KeepReadTools leaves the client's own tools for reading and searching. The server then does not know what
	// the agent has seen, and secret: rules bind only its own tools.
	KeepReadTools bool
}

// Action is what applying a plan does to one file.
type Action string

// The actions. A file is Kept when it has entries of ours that somebody changed by hand.
const (
	Created   Action = "created"
	Updated   Action = "updated"
	Unchanged Action = "unchanged"
	Kept      Action = "kept"
)

// File is one file of a plan.
type File struct {
	// Path is absolute; Name is how a person is told about it (relative to the workspace where it is inside).
	Path, Name string
	Action     Action
	// Detail says in a few words what is added or why nothing is.
	Detail string
	// Fragment is what an empty file would be given: what somebody who edits by hand has to add.
	Fragment []byte
	// Content is the whole file as it will be.
	Content []byte

	before  []byte
	existed bool
	inside  bool // belongs to the workspace: may not lead out of it
}

// Plan is what would be done for one client.
type Plan struct {
	// Client is the name on the command line, Title the product's.
	Client, Title string
	Files         []File
	// Closed lists the ways round the gate that these files close; Open those that they cannot.
	Closed, Open []string
	// Warnings are things about existing files that the operator should repair.
	Warnings []string
	// Next is what the person does now, in the client.
	Next string
}

// Weakened reports whether a file was kept that lets more through than what we would have written.
func (p *Plan) Weakened() bool {
	return slices.ContainsFunc(p.Files, func(f File) bool { return f.Action == Kept })
}

// client is one client: its name and how its plan is made.
type client struct {
	name, title string
	plan        func(*planner) error
}

// clients are all of them, in the order of the help text.
func clients() []client {
	return []client{
		{"claude-desktop", "Claude Desktop", planClaudeDesktop},
		{"claude-code", "Claude Code", planClaudeCode},
		{"cursor", "Cursor", planCursor},
		{"roo", "Roo Code", planRoo},
		{"vscode", "VS Code", planVSCode},
	}
}

// Names lists the clients that can be set up.
func Names() []string {
	var names []string
	for _, c := range clients() {
		names = append(names, c.name)
	}
	return names
}

// New computes the plan for one client. It reads the existing files and changes nothing.
func New(name string, opts Options) (*Plan, error) {
	i := slices.IndexFunc(clients(), func(c client) bool { return c.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%w %q: choose one of %s", ErrUnknownClient, name, strings.Join(Names(), ", "))
	}
	c := clients()[i]
	p := &planner{Options: opts, plan: &Plan{Client: c.name, Title: c.title}}
	if err := c.plan(p); err != nil {
		return nil, fmt.Errorf("%s: %w", c.title, err)
	}
	return p.plan, nil
}

// planner collects a plan.
type planner struct {
	Options
	plan *Plan
}

func (p *planner) closes(ways ...string) { p.plan.Closed = append(p.plan.Closed, ways...) }
func (p *planner) leaves(ways ...string) { p.plan.Open = append(p.plan.Open, ways...) }
func (p *planner) warn(format string, args ...any) {
	p.plan.Warnings = append(p.plan.Warnings, fmt.Sprintf(format, args...))
}

// edited is the outcome of a change of one file.
type edited struct {
	content []byte
	detail  string
	kept    bool // it holds our entry, changed by hand and weaker than ours: left as it is
}

// edit plans a change of one file. change gets the present content (nil if there is none) and returns the new one;
// returning the same bytes means that there is nothing to do. It is called a second time for an empty file, to
// know what a person would have to add by hand, and so must have no effects of its own.
func (p *planner) edit(path string, change func(text []byte) (edited, error)) error {
	name, inside := p.nameOf(path)
	before, existed, err := p.read(path, inside)
	if err != nil {
		return err
	}
	after, err := change(before)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fragment, err := change(nil)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.plan.Files = append(p.plan.Files, File{
		Path: path, Name: name, Action: actionFor(existed, before, after), Detail: after.detail,
		Fragment: fragment.content, Content: after.content, before: before, existed: existed, inside: inside,
	})
	return nil
}

func actionFor(existed bool, before []byte, after edited) Action {
	switch {
	case after.kept:
		return Kept
	case !existed:
		return Created
	case bytes.Equal(before, after.content):
		return Unchanged
	default:
		return Updated
	}
}

// nameOf gives the name for people, and whether the file belongs to the workspace.
func (p *planner) nameOf(path string) (string, bool) {
	rel, err := filepath.Rel(p.Workspace, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path, false
	}
	return filepath.ToSlash(rel), true
}

func (p *planner) inWorkspace(slashPath string) string {
	return filepath.Join(p.Workspace, filepath.FromSlash(slashPath))
}
