package tools

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// watch finds what one command changes, and holds it against the scope. A nil
// one finds nothing.
type watch struct {
	deps   *Deps
	call   *hooks.Call
	window *snapshot.Window
	// named are the targets of redirections that the gate has let pass.
	named []string
	// build says whether a path is meant for the output of builds.
	build func(path string) bool
}

// watch looks at the workspace before a command. Exactly one of finish and
// discard ends it.
func (c *commandCall) watch(ctx context.Context) (*watch, error) {
	d := c.tool.deps
	if d.Snapshots == nil {
		return nil, nil
	}
	w := &watch{deps: d, call: c.call, build: c.box.reach.InPlace}
	for _, f := range c.targets {
		if f.Mutates() {
			w.named = append(w.named, f.Path)
		}
	}
	var err error
	if w.window, err = d.Snapshots.Begin(ctx, func(path string) bool { return w.objection(path) == "" }); err != nil {
		return nil, fmt.Errorf("the workspace could not be looked at before the command, which was not started: %w", err)
	}
	return w, nil
}

func (w *watch) discard() {
	if w != nil {
		w.window.Discard()
	}
}

// pending is what the journal keeps to find the changes after a crash.
func (w *watch) pending() []byte {
	if w == nil {
		return nil
	}
	return w.window.Saved()
}

// finish adds to the outcome of a command, all of whose processes are gone,
// what it changed.
func (w *watch) finish(ctx context.Context, o *hooks.Outcome) {
	if w == nil {
		return
	}
	found, err := w.window.End(context.WithoutCancel(ctx))
	if err != nil {
		o.Command.Detail = map[string]any{detailUnseen: err.Error()}
		o.Warnings = append(o.Warnings, fmt.Sprintf("What the command changed could not be found out (%v). Tell the user.", err))
		return
	}
	a := &account{watch: w, outcome: o, left: hunkBudget, detail: map[string]any{}}
	for i := range found.Changes {
		a.add(&found.Changes[i])
	}
	a.directories()
	a.revert(ctx)
	a.tell(found)
}

// objection says why a command may not change a path; "" if it may.
func (w *watch) objection(path string) string {
	if slices.Contains(w.named, path) {
		return ""
	}
	ignore := w.call.Ignore
	if workspace.Protect(path) == workspace.ProtectNever {
		return "it belongs to the governance files or to git"
	}
	if ignore != nil {
		if rule, ok := ignore.Secret(path); ok {
			return fmt.Sprintf("it is out of reach for every tool (%s:%d)", rule.File, rule.Line)
		}
		if rule, ok := ignore.PathBlocked(path); ok {
			return fmt.Sprintf("it is closed to changes (%s:%d)", rule.File, rule.Line)
		}
	}
	if w.build(path) {
		return ""
	}
	if workspace.Protect(path) == workspace.ProtectProgramConfig {
		return "it can make other programs run code or grant rights, which needs the operator's approval"
	}
	if w.call.Intent == nil || w.call.Intent.Scope().Match(path) {
		return ""
	}
	if ignore != nil {
		if _, ok := ignore.Unscoped(path); ok {
			return ""
		}
	}
	return "it is out of the scope of " + w.call.Intent.ID
}

// The keys of what a command's record says of its changes beside the list.
const (
	detailUnseen    = "changes_unknown" // why nothing is known of the changes
	detailGaps      = "not_looked_into" // parts of the workspace
	detailShared    = "shared"          // paths that changed while another command ran too
	detailCertainty = "certainty"       // "shared" where there are such
	detailGiven     = "left_to_others"  // paths whose change is in the record of another command
	detailModes     = "modes"           // path to permissions before and after, where these changed
	detailLinks     = "links"           // paths that are or were symbolic links: their content is their text
	detailSpecial   = "special"         // paths that are or were FIFOs, sockets, devices
	detailNoImage   = "no_before_image" // paths whose content before is not kept: the change cannot be undone
	detailMore      = "more"            // how many changes the record leaves out
)

const (
	// hunkBudget bounds the contents of one command that are compared line by
	// line, in bytes.
	hunkBudget = 32 << 20
	// maxRecorded bounds the changes that the record of one command names.
	maxRecorded = 20_000
	// maxNamed bounds the paths in a detail.
	maxNamed = 200
)

// account is made of the changes of one command.
type account struct {
	*watch
	outcome *hooks.Outcome
	detail  map[string]any
	left    int64 // of the hunkBudget

	more    int
	dirs    []*snapshot.Change
	wrong   []*snapshot.Change // violations, one to one with the outcome's
	allowed []string           // paths of files that changed, whoever may
}

// add accounts for one change.
func (a *account) add(c *snapshot.Change) {
	if kindOf(c) == snapshot.Directory {
		a.dirs = append(a.dirs, c)
		return
	}
	f := a.file(c)
	reason := a.reason(c)
	f.InScope = reason == ""
	switch {
	case reason != "":
		a.violation(c, hooks.Violation{Path: f.Path, Op: f.Op, Reason: reason})
	case a.build(c.Path) && (c.From == "" || a.build(c.From)):
		a.outcome.Build = append(a.outcome.Build, hooks.FileOutcome{
			Path: f.Path, From: f.From, Op: f.Op, BeforeHash: f.BeforeHash, AfterHash: f.AfterHash, BeforeOID: f.BeforeOID, AfterOID: f.AfterOID, InScope: true,
		})
		return
	}
	if len(a.outcome.Files) == maxRecorded {
		a.more++
		return
	}
	a.outcome.Files = append(a.outcome.Files, f)
	a.describe(c, &f)
}

func (a *account) reason(c *snapshot.Change) string {
	if reason := a.objection(c.Path); reason != "" || c.From == "" {
		return reason
	}
	if reason := a.objection(c.From); reason != "" {
		return "of " + shown(c.From) + ": " + reason
	}
	return ""
}

func (a *account) violation(c *snapshot.Change, v hooks.Violation) {
	a.wrong = append(a.wrong, c)
	a.outcome.Violations = append(a.outcome.Violations, v)
}

// file is the outcome of one change. Of what has no name that a record can
// have, there is only that.
func (a *account) file(c *snapshot.Change) hooks.FileOutcome {
	f := hooks.FileOutcome{Path: shown(c.Path), From: shown(c.From), Op: hooks.Op(c.Op), Knowledge: hooks.KnowsBySearch}
	if f.Path != c.Path || f.From != c.From {
		f.Unread = true
		return f
	}
	if c.Before != nil {
		f.BeforeHash, f.BeforeOID, f.Before = c.Before.Hash, c.Before.OID, c.Before.Bytes
		f.Unread = f.Unread || !c.Before.Known
	}
	if c.After != nil {
		f.AfterHash, f.AfterOID, f.After = c.After.Hash, c.After.OID, c.After.Bytes
		f.Unread = f.Unread || !c.After.Known
	}
	if !f.Unread && c.Op != snapshot.Moved {
		f.Hunks = a.hunks(c)
	}
	return f
}

// hunks compares two texts. Those of binary contents, and of links, are not
// known.
func (a *account) hunks(c *snapshot.Change) [][4]int {
	var texts [2]string
	for i, content := range []*snapshot.Content{c.Before, c.After} {
		if content == nil {
			continue
		}
		if a.left -= content.Size; a.left < 0 || content.Kind != snapshot.File {
			return nil
		}
		text, err := workspace.Decode(content.Bytes)
		if err != nil {
			return nil
		}
		texts[i] = text.String
	}
	return edit.Hunks(texts[0], texts[1])
}

// describe notes what the list of changes cannot say.
func (a *account) describe(c *snapshot.Change, f *hooks.FileOutcome) {
	if c.Shared {
		a.note(detailShared, f.Path)
	}
	for _, content := range []*snapshot.Content{c.Before, c.After} {
		switch {
		case content == nil:
		case content.Kind == snapshot.Link:
			a.note(detailLinks, f.Path)
		case content.Kind == snapshot.Special:
			a.note(detailSpecial, f.Path)
		}
	}
	if c.Before == nil {
		return
	}
	if c.Before.Kind == snapshot.File && !c.Before.Known && (c.After == nil || c.After.Hash != c.Before.Hash || c.Before.Hash == "") {
		a.note(detailNoImage, f.Path)
	}
	if c.After != nil && c.Before.Kind == c.After.Kind && c.Before.Kind != snapshot.Link && c.Before.Mode != c.After.Mode {
		modes, _ := a.detail[detailModes].(map[string]any)
		if modes == nil {
			modes = map[string]any{}
			a.detail[detailModes] = modes
		}
		if len(modes) < maxNamed {
			modes[f.Path] = []string{octal(c.Before.Mode), octal(c.After.Mode)}
		}
	}
}

func (a *account) note(key, path string) {
	paths, _ := a.detail[key].([]string)
	if len(paths) < maxNamed && !slices.Contains(paths, path) {
		a.detail[key] = append(paths, path)
	}
}

// octal writes permissions as chmod takes them.
func octal(mode fs.FileMode) string {
	bits := uint64(mode.Perm())
	for i, special := range []fs.FileMode{fs.ModeSticky, fs.ModeSetgid, fs.ModeSetuid} {
		if mode&special != 0 {
			bits |= 1 << (9 + i)
		}
	}
	return "0" + strconv.FormatUint(bits, 8)
}

// directories finds those out of scope of which no changed file tells.
// Directories have no place in a record but as violations.
func (a *account) directories() {
	for _, c := range a.dirs {
		if git := "/" + c.Path + "/"; strings.Contains(git, "/.git/") {
			continue // git makes and removes its own; what counts there is files
		}
		reason := a.objection(c.Path)
		if reason == "" || a.objection(c.Path+"/x") == "" || a.fileBelow(c.Path) {
			continue
		}
		a.violation(c, hooks.Violation{Path: shown(c.Path), Op: hooks.Op(c.Op), Reason: "a directory; " + reason})
	}
}

func (a *account) fileBelow(dir string) bool {
	return slices.ContainsFunc(a.outcome.Files, func(f hooks.FileOutcome) bool {
		return strings.HasPrefix(f.Path, dir+"/") || strings.HasPrefix(f.From, dir+"/")
	})
}

// tell writes down what concerns all of it.
func (a *account) tell(found *snapshot.Difference) {
	o := a.outcome
	if a.more > 0 {
		a.detail[detailMore] = a.more
		o.Warnings = append(o.Warnings, fmt.Sprintf("The command changed %d more files than a record can name.", a.more))
	}
	if _, is := a.detail[detailShared]; is {
		a.detail[detailCertainty] = "shared"
		o.Warnings = append(o.Warnings, "Another command ran at the same time; some of the changes may be its own (the record marks them).")
	}
	for _, path := range found.Given {
		a.note(detailGiven, shown(path))
	}
	for _, gap := range found.Gaps {
		a.note(detailGaps, shown(gap.String()))
	}
	if len(found.Gaps) > 0 {
		o.Warnings = append(o.Warnings, fmt.Sprintf("Parts of the workspace could not be looked into, so changes there are not known (%s).", shown(found.Gaps[0].String())))
	}
	if none, is := a.detail[detailNoImage].([]string); is {
		o.Warnings = append(o.Warnings, fmt.Sprintf("The content before the change is not kept of %d files (%s); undo cannot bring it back.", len(none), none[0]))
	}
	if len(a.detail) > 0 {
		o.Command.Detail = a.detail
	}
}

func kindOf(c *snapshot.Change) snapshot.Kind {
	if c.After != nil {
		return c.After.Kind
	}
	return c.Before.Kind
}

// shown is a path as records and results can hold it: what is not UTF-8 is
// written as \xNN.
func shown(path string) string {
	if utf8.ValidString(path) {
		return path
	}
	var b strings.Builder
	for i := 0; i < len(path); {
		r, size := utf8.DecodeRuneInString(path[i:])
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, "\\x%02x", path[i])
		} else {
			b.WriteString(path[i : i+size])
		}
		i += size
	}
	return b.String()
}
