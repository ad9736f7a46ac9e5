package tools

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/internal/pathglob"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/command/complaint"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// denial is one thing that a command failed at because of its sandbox.
type denial struct {
	// Path is workspace-relative, or absolute outside of it; "" where the output does not say it.
	Path      string `json:"path,omitempty" doc:"Workspace-relative, or absolute; missing where the output does not name it."`
	Operation string `json:"operation" enum:"write,read,move,connect,root" doc:"What the command was kept from."`
	Error     string `json:"error" doc:"What the system said to the program."`
	Reason    string `json:"reason" doc:"Why."`
	IntentID  string `json:"intent_id,omitempty" doc:"The intent that the command ran under."`
	Hint      string `json:"action_hint" doc:"As in a refusal."`
	Next      string `json:"suggestion" doc:"What to do."`
}

// maxDenials bounds those of one command.
const maxDenials = 10

// listDenied shows them in the text of a result.
func listDenied(b *strings.Builder, denied []denial) {
	for _, d := range denied {
		what := map[string]string{"write": "writing ", "read": "reading ", "move": "renaming or removing ", "connect": "the network", "root": "an act of root"}[d.Operation]
		if d.Path != "" {
			what += printable.Name(d.Path)
		}
		note(b, "[the sandbox denied %s (%s): %s. %s]", strings.TrimSpace(what), d.Error, d.Reason, d.Next)
	}
}

// denials are what of a failed command's output the sandbox is the reason of: each is a message of the system about
// something that the box closes, and that plain permissions would have let the command do.
func (c *commandCall) denials(exitCode int, output string) []denial {
	if c.profile == nil || c.profile.Sandbox == nil {
		return nil
	}
	look := &denials{commandCall: c, judge: c.judge(), exitCode: exitCode, output: output}
	var found []denial
	unexplained := false
	for _, look.said = range complaint.Find(output) {
		d, is := look.explain()
		switch {
		case !is:
			unexplained = unexplained || look.said.Kind == complaint.ReadOnly
		case len(found) < maxDenials && !slices.ContainsFunc(found, func(other denial) bool { return other.Path == d.Path && other.Operation == d.Operation }):
			found = append(found, d)
		}
	}
	if len(found) == 0 && unexplained && c.profile.Level == sandbox.Full {
		found = append(found, look.nameless())
	}
	return found
}

type denials struct {
	*commandCall
	judge    *observe.Judge
	exitCode int
	output   string
	said     complaint.Complaint // the one that is looked at
}

// Exit codes by which a shell says that it could not run a program.
const (
	notExecutable = 126
	notFound      = 127
)

var (
	rootsActs = lazy.Regexp(`(?i)chown|chgrp|owner|\bmount|setgroups|setuid|setgid|mknod`)
	sockets   = lazy.Regexp(`(?i)socket|connect`)
)

func (l *denials) explain() (denial, bool) {
	kind, held, full := l.said.Kind, l.profile, l.profile.Level == sandbox.Full
	refused, looked := complaint.Permission, held.Level == sandbox.Landlock
	if held.Level == sandbox.Seatbelt {
		refused, looked = complaint.Rights, true // macOS says EPERM
	}
	looked = looked && l.exitCode != notExecutable && l.exitCode != notFound
	at := "" // the place that the complaint is about, as far as one of its names can be one of a kind
	is := func(of complaint.Kind, where bool, closed func(string) bool) bool {
		if kind != of || !where {
			return false
		}
		for _, name := range l.said.Names {
			places := l.places(name, l.said.Program)
			if i := slices.IndexFunc(places, closed); i >= 0 {
				at = places[i]
				return true
			}
		}
		return false
	}
	closed := func(at string) bool { return !held.Writes(at) && exists(filepath.Dir(at)) }
	switch {
	case is(refused, true, held.Hides):
		return l.denied("read", at, refusal.HintChooseFile, "it is out of reach for every tool (secret: of .intentignore, or the operator's own)", "Work without it, or ask the user."), true
	case is(complaint.ReadOnly, full, func(at string) bool { return closed(at) && !readOnlyDisk(at) }),
		is(refused, looked, func(at string) bool { return closed(at) && permits(at) }):
		return l.write(at), true
	case is(complaint.ReadOnly, full, held.Pins), is(complaint.Busy, true, held.Pins),
		is(refused, looked, func(at string) bool { return held.Pins(at) && permits(filepath.Dir(at)) }):
		return l.pinned(at), true
	case is(complaint.Missing, full, func(at string) bool { return held.Covers(at) && exists(at) }):
		return l.denied("read", at, refusal.HintAskUser, "commands see a private directory in the place of /tmp, and nothing of /run",
			"Keep files that commands share in the workspace, or ask the user to open the place with commands.writable."), true
	case kind == complaint.CrossDisk && l.stage != nil:
		return l.crossed(), true
	case kind == complaint.Rights && os.Geteuid() == 0 && full && rootsActs().MatchString(l.said.Line):
		return l.denied("root", "", refusal.HintFollowConstraints, "a command in the sandbox has none of root's rights: it cannot change owners, mount, or become another user",
			"Do without (tar --no-same-owner, cp without -a), or ask the user to do it."), true
	case held.DeniesNetwork() && (kind == complaint.Network || (kind == complaint.Permission || kind == complaint.Rights) && sockets().MatchString(l.output)):
		return l.unconnected(), true
	}
	return denial{}, false
}

// denied is a denial about a path, "" for none.
func (l *denials) denied(operation, at, hint, reason, next string) denial {
	if at != "" {
		rel, _ := l.inside(at)
		at = observe.Shown(rel)
	}
	d := denial{Path: at, Operation: operation, Error: string(l.said.Kind), Hint: hint, Reason: reason, Next: next}
	if l.call.Intent != nil && (operation == "write" || operation == "connect") {
		d.IntentID = l.call.Intent.ID
	}
	return d
}

// places are where a name of the output can be: from each directory that a
// program of the line runs in, those of the one that says it first.
func (l *denials) places(name, program string) []string {
	root := l.Workspace.Dir()
	if filepath.IsAbs(name) {
		return []string{unlinked(filepath.Clean(name))}
	}
	start := filepath.Join(root, filepath.FromSlash(l.cwd.Path))
	var dirs, others []string
	if r := l.effect.Reading; r != nil {
		for _, p := range r.Programs {
			for _, in := range p.In {
				if !filepath.IsAbs(in) {
					in = filepath.Join(start, filepath.FromSlash(in))
				}
				if p.Name == program {
					dirs = append(dirs, in)
				} else {
					others = append(others, in)
				}
			}
		}
	}
	var at []string
	for _, dir := range slices.Concat(dirs, []string{start}, others) {
		at = append(at, unlinked(filepath.Join(dir, filepath.FromSlash(name))))
	}
	return at
}

// unlinked is a path with the links on the way to it resolved, as far as it exists; its last name is left as it is.
func unlinked(p string) string {
	dir := filepath.Dir(p)
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return filepath.Join(real, filepath.Base(p))
	}
	return p
}

func exists(p string) bool {
	_, err := os.Lstat(p)
	return err == nil
}

// inside is a path as the workspace's own; false for one outside.
func (l *denials) inside(at string) (string, bool) {
	rel, err := filepath.Rel(l.Workspace.Dir(), at)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return at, false
	}
	return filepath.ToSlash(rel), true
}

// write explains that a path could not be written.
func (l *denials) write(at string) denial {
	at = l.meant(at)
	d := l.denied("write", at, refusal.HintAskUser, "", "")
	rel, inside := l.inside(at)
	if !inside {
		d.Reason = "it is outside of the workspace, where commands write their private temporary directory and build caches only"
		d.Next = outsideNext(rel)
		return d
	}
	d.Reason = l.judge.Forbids(rel)
	inPackages := slices.ContainsFunc(strings.Split(rel, "/"), func(name string) bool { return name == "node_modules" || name == ".venv" || name == "venv" })
	_, blocked := l.judge.Ignore.PathBlocked(rel)
	_, secret := l.judge.Ignore.Secret(rel)
	protection := workspace.ProtectIn(l.judge.Places, rel)
	switch {
	case d.Reason == "":
		d.Reason = "the intent owns it, and the sandbox could not open it to a command (the notes say why, where there are any)"
		d.Next = "Write it with a file tool (write_to_file, edit_file)."
	case strings.Contains("/"+rel+"/", "/.git/"):
		d.Next = "Of .git a line with a git command in it can write all but hooks and configuration, if commands.git allows it; ask the user for anything else."
	case protection >= workspace.ProtectNever, blocked, secret:
		d.Next = "Leave it as it is, or ask the user."
	case protection == workspace.ProtectProgramConfig:
		d.Next = "Change it with write_to_file, which asks the operator."
	case inPackages:
		d.Hint = refusal.HintFollowConstraints
		d.Next = "Package directories are open to commands that install dependencies (npm install, pip install, …): run that command itself in the line, not from a script."
	default:
		d.Hint = refusal.HintExpandScope
		d.Next = fmt.Sprintf("Call request_scope_expansion with paths: [%q] and the reason, and run the command again.", pathglob.Escape(rel))
		if l.call.Intents == nil {
			break
		}
		if owners := l.call.Intents.Covering(rel); len(owners) > 0 {
			d.Next += fmt.Sprintf(" Or select %s, which owns it.", owners[0].ID)
		}
	}
	return d
}

// meant is the file that a program was to replace, where it failed at making a
// temporary one beside: an argument of the line in the same directory.
func (l *denials) meant(at string) string {
	if exists(at) || strings.Contains(l.args.Command, filepath.Base(at)) || l.effect.Reading == nil {
		return at
	}
	for _, p := range l.effect.Reading.Programs {
		for _, a := range p.Args {
			for _, named := range l.places(a.Text, p.Name) {
				if info, err := os.Lstat(named); a.Exact && a.Text != "" && err == nil && info.Mode().IsRegular() && filepath.Dir(named) == filepath.Dir(at) && !l.profile.Writes(named) {
					return named
				}
			}
		}
	}
	return at
}

// outsideNext is what to do about a write outside of the workspace.
func outsideNext(at string) string {
	if strings.Contains(at, "/site-packages") || strings.Contains(at, "/dist-packages") {
		return "Install into an environment of the workspace: python3 -m venv .venv, then .venv/bin/pip install …"
	}
	if strings.Contains(at, "/node_modules") {
		return "Install into the project, without -g; npx runs a package without installing it."
	}
	return "Write inside the scope or below $TMPDIR; the user can open another place with commands.writable."
}

func (l *denials) pinned(at string) denial {
	d := l.denied("move", at, refusal.HintFollowConstraints, "the sandbox keeps it in its place while the command runs: only what is in it, or a part of that, is open to the command", "")
	d.Next = fmt.Sprintf("Change or empty what is in it instead of renaming or removing it (%s/*).", path.Clean(d.Path))
	return d
}

// unconnected explains a connection that failed where the network is denied.
func (l *denials) unconnected() denial {
	d := l.denied("connect", "", refusal.HintAskUser, "the settings deny commands the network (commands.network: deny)",
		"Work with what is on this machine (npm --offline, pip --no-index, GOFLAGS=-mod=mod with GOPROXY=off), or ask the user to allow the network.")
	if d.IntentID != "" && !l.Policy.NetworkDenied && gate.NetworkDenied(l.call, l.Policy) {
		d.Reason = d.IntentID + " denies its commands the network (network: deny)"
	}
	return d
}

// nameless is for an output that names no path of those that are closed.
func (l *denials) nameless() denial {
	open := "what the settings open"
	if in := l.call.Intent; in != nil {
		open = fmt.Sprintf("the scope of %s, %v", in.ID, in.OwnedScope)
	}
	d := l.denied("write", "", refusal.HintExpandScope, "the command tried to write something that it may not, and its output does not say what; it can write "+open,
		"Find out which file it writes, and call request_scope_expansion with that path.")
	d.Error = string(complaint.ReadOnly)
	return d
}
