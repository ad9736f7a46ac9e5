package clientsetup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
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
	// Launch is how the client starts this program.
	Launch Launch
	// Home is the user's home directory, for clients whose configuration is not in the workspace.
	Home string
	// OS is the operating system in Go's words (runtime.GOOS): it decides where Claude Desktop looks.
	OS string
	// LookupEnv reads an environment variable; it is asked for APPDATA and XDG_CONFIG_HOME.
	LookupEnv func(string) (string, bool)
	// UserDir is the user's own directory for this program, where it is kept what files were before a setup; "" keeps
	// nothing.
	UserDir string
	// KeepTools leaves a client its own tools though its hooks can only fail open.
	KeepTools bool
	// TrustHooks writes for the operator that a client may run our hooks, where it asks for each.
	TrustHooks bool
	// Managed plans the administrators' file of the client, for all users of the machine; SystemRoot is where the machine's
	// directories are, "" for /.
	Managed    bool
	SystemRoot string
	// Adopt moves the client's other servers behind this one. UserSecrets and WorkspaceSecrets are the directories in which those of
	// the user's settings and of the workspace's have their secrets.
	Adopt                         bool
	UserSecrets, WorkspaceSecrets string
}

// Action is what applying a plan does to one file.
type Action string

// The actions. A file is Kept when it has entries of ours that somebody changed by hand.
const (
	Created   Action = "created"
	Updated   Action = "updated"
	Removed   Action = "removed"
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
	inside  bool        // belongs to the workspace: may not lead out of it
	mode    fs.FileMode // of a new file

	bare       []byte // before, without what a setup has put in
	bareExists bool

	adopted []adopted // servers that are not in it any more
	receipt *receipt  // what is kept of it; nil for the whole file
	aside   bool      // one of ours, of which no receipt is kept
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
	// Adoption is what becomes of the client's other servers; nil if nothing does.
	Adoption *Adoption

	workspace, userDir string
	hooks              []Entry
}

// Weakened reports whether a file was kept that lets more through than what we would have written, or something has
// to be repaired before the client does what the files say.
func (p *Plan) Weakened() bool { return p.keeps() || len(p.Warnings) > 0 }

// NamesProgram reports whether the client looks for a program of this name to start the server.
func (p *Plan) NamesProgram(name string) bool {
	for _, server := range allServers(p.Files[0].Content) {
		if server.isOurs() && slices.Equal(server.start, []string{name}) {
			return true
		}
	}
	return false
}

// Hooks are what the client's hooks start before the plan is applied: each launch once a file. Of an entry they have the file
// and the launch.
func (p *Plan) Hooks() []Entry { return p.hooks }

// ForAllWorkspaces: the client has one list of servers for everything that its user opens.
func (p *Plan) ForAllWorkspaces() bool { return !p.Files[0].inside }

func (p *Plan) keeps() bool {
	return slices.ContainsFunc(p.Files, func(f File) bool { return f.Action == Kept })
}

// Changes reports whether applying it would write something.
func (p *Plan) Changes() bool {
	return p.Adoption.changes() || slices.ContainsFunc(p.Files, func(f File) bool { return f.Action != Kept && f.Action != Unchanged })
}

// New computes the plan for one client. It reads the existing files and changes nothing.
func New(name string, opts Options) (*Plan, error) { return newPlan(name, opts, false) }

// NewRemoval computes the plan that takes out of one client's files what a setup has put in. What the files were before
// is known where this user set them up; elsewhere what looks like ours is.
func NewRemoval(name string, opts Options) (*Plan, error) {
	plan, err := newPlan(name, opts, true)
	if err != nil {
		return nil, err
	}
	plan.Closed, plan.Open, plan.Warnings = nil, nil, nil
	plan.Next = "Restart " + plan.Title + ". Nothing that it does with its own tools passes the gate any more."
	return plan, nil
}

func newPlan(name string, opts Options, removing bool) (*Plan, error) {
	i := slices.IndexFunc(clients(), func(c client) bool { return c.name == name })
	if i < 0 {
		return nil, fmt.Errorf("%w %q: choose one of %s", ErrUnknownClient, name, strings.Join(Names(), ", "))
	}
	c := clients()[i]
	p := &planner{Options: opts, client: c, plan: &Plan{Client: c.name, Title: c.title, workspace: opts.Workspace, userDir: opts.UserDir}, removing: removing}
	make := c.plan
	if opts.Managed {
		make = planManaged
	}
	err := make(p)
	if err == nil && p.ownNamed && !removing {
		err = opts.Launch.Unfit()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.title, err)
	}
	return p.plan, nil
}

// planner collects a plan.
type planner struct {
	Options
	client   client
	plan     *Plan
	removing bool
	server   serverEntry // ours in the client's list as it stands, if wasSetUp
	wasSetUp bool
	ownNamed bool // a file of the user's names the program
	adoption *adoption
}

// closes says what the files close, if they do: unless says what stands in the way.
func (p *planner) closes(unless []string, ways ...string) {
	if len(unless) == 0 {
		p.plan.Closed = append(p.plan.Closed, ways...)
		return
	}
	for _, problem := range unless {
		if !slices.Contains(p.plan.Warnings, problem) {
			p.plan.Warnings = append(p.plan.Warnings, problem)
		}
	}
	for _, way := range ways {
		p.leaves("NOT closed until the file is repaired (below): " + way)
	}
}

// last is the file that was planned last.
func (p *planner) last() File { return p.plan.Files[len(p.plan.Files)-1] }

// lastDocument is what that file will hold; nil if it is not JSON.
func (p *planner) lastDocument() *document {
	doc, _ := parseDocument(p.last().Content)
	return doc
}

func (p *planner) leaves(ways ...string) {
	for _, way := range ways {
		if !slices.Contains(p.plan.Open, way) {
			p.plan.Open = append(p.plan.Open, way)
		}
	}
}

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
// know what a person would have to add by hand, and so must have no effects of its own. take does the opposite: it gets
// the present content and the one before the setup, nil if that is not known, and returns nil for a file that is to go.
func (p *planner) edit(path string, change func(text []byte) (edited, error), take func(text, before []byte) (edited, error)) error {
	name, inside := p.nameOf(path)
	before, existed, err := p.read(path, inside)
	if err != nil {
		return err
	}
	file := File{Path: path, Name: name, before: before, existed: existed, inside: inside, mode: 0o600}
	if inside || p.Managed { // what others read as well
		file.mode = 0o644
	}
	var bare edited
	if bare, err = p.without(file, take); err != nil && p.removing {
		return fmt.Errorf("%s: %w", name, err)
	} else if err != nil {
		bare.content = before
	}
	file.bare, file.bareExists = bare.content, existed && bare.content != nil
	if p.removing {
		file.Action, file.Detail, file.Content = actionFor(existed, before, bare), bare.detail, bare.content
		p.plan.Files = append(p.plan.Files, file)
		return nil
	}
	after, err := change(before)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	fragment, err := change(nil)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	file.Action, file.Detail, file.Fragment, file.Content = actionFor(existed, before, after), after.detail, fragment.content, after.content
	p.plan.Files = append(p.plan.Files, file)
	return nil
}

// takeBack plans that what an earlier setup has put into a file is taken out, if something is there.
func (p *planner) takeBack(path string, take func(text, before []byte) (edited, error)) error {
	defer func(removing bool) { p.removing = removing }(p.removing)
	p.removing = true
	if err := p.edit(path, nil, take); err != nil {
		return err
	}
	if p.last().Action == Unchanged {
		p.plan.Files = p.plan.Files[:len(p.plan.Files)-1]
	}
	return nil
}

// without is a file as it is without what a setup has put in: exactly what it was where nobody has changed it since.
func (p *planner) without(file File, take func(text, before []byte) (edited, error)) (edited, error) {
	if !file.existed {
		return edited{}, nil
	}
	was := p.recall(file.Path)
	if was != nil && was.After == hashOf(file.before) {
		return edited{content: was.content(), detail: "as it was before"}, nil
	}
	then := was.content()
	if was == nil && !p.removing { // nothing tells whose a denial is that stands there already: it is the operator's
		then = file.before
	}
	after, err := take(file.before, then)
	if errors.Is(err, errKept) {
		return edited{content: file.before, kept: true, detail: strings.TrimPrefix(err.Error(), errKept.Error()+": ")}, nil
	}
	return after, err
}

// actionFor tells what a file gets; without content it is to go.
func actionFor(existed bool, before []byte, after edited) Action {
	switch {
	case after.kept:
		return Kept
	case existed && after.content == nil:
		return Removed
	case bytes.Equal(before, after.content) && (existed || after.content == nil):
		return Unchanged
	case !existed:
		return Created
	}
	return Updated
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
