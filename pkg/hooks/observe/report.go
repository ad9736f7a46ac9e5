package observe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/snapshot"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// The keys of what a command's record says of its changes beside the list.
const (
	DetailUnseen    = "changes_unknown" // why nothing is known of the changes
	detailGaps      = "not_looked_into" // parts of the workspace
	detailShared    = "shared"          // paths that changed while another command ran too
	detailCertainty = "certainty"       // "shared" where there are such
	detailGiven     = "left_to_others"  // paths whose change is in the record of another command
	detailLinks     = "links"           // paths that are or were symbolic links: their content is their text
	detailSpecial   = "special"         // paths that are or were FIFOs, sockets, devices
	detailNoImage   = "no_before_image" // paths whose content before is not kept: the change cannot be undone
	DetailGit       = "git"             // what became of HEAD, branches, tags, stash and index: a list of GitChange
	DetailMore      = "more"            // how many changes the record leaves out
	DetailPackages  = "packages"        // package directories, each a Packaged: what changed in it, which is not listed
	detailReplayed  = "replayed"        // paths out of scope that git was to make of people's commits when the server died
)

const (
	// hunkBudget bounds the contents of one command that are compared line by line, in bytes.
	hunkBudget = 32 << 20
	// maxRecorded bounds the changes that the record of one command names.
	maxRecorded = 20_000
	// maxNamed bounds the paths in a detail.
	maxNamed = 200
)

// sinceStart qualifies what a new server finds.
const sinceStart = "; found when the server started again, so somebody else may have changed it since"

// report judges the changes of one command, and makes its outcome of them.
type report struct {
	*Judge
	outcome *hooks.Outcome
	// detail is what the list of changes cannot say.
	detail map[string]any
	// recovery: the command's server has died, and others may have made changes since.
	recovery bool

	left  int64 // of the hunkBudget
	more  int   // changes that are not listed
	dirs  []*snapshot.Change
	wrong []*snapshot.Change // violations, one to one with the outcome's first
	// replayed are paths that git made of people's commits.
	replayed []string
}

func newReport(j *Judge, o *hooks.Outcome) *report {
	return &report{Judge: j, outcome: o, detail: map[string]any{}, left: hunkBudget}
}

// Recovered is the outcome of a command whose server died, by what has changed since it began. j is nil where nothing
// says what it might change. Nothing is taken back: other programs may have gone on from it since.
func Recovered(j *Judge, files *workspace.Workspace, found *snapshot.Difference) *hooks.Outcome {
	if j != nil {
		j.repositories = newRepositories(files.Root(), found.Changes)
	}
	r := newReport(j, &hooks.Outcome{Command: &hooks.CommandOutcome{}})
	r.recovery = true
	for i := range found.Changes {
		r.add(&found.Changes[i])
	}
	r.tell(found)
	return r.outcome
}

// add judges one change.
func (r *report) add(c *snapshot.Change) {
	if kindOf(c) == snapshot.Directory {
		r.dirs = append(r.dirs, c)
		return
	}
	if gitState(c.Path) && !r.history(c) {
		return
	}
	if r.packaged(c) {
		return
	}
	if r.recovery && r.Judge != nil && slices.Contains(r.Replayed, c.Path) {
		r.note(detailReplayed, Shown(c.Path)) // what it says now is not compared
		return
	}
	f := r.file(c)
	reason := r.forbidsChange(c)
	f.InScope = reason == ""
	switch {
	case reason != "" && r.recovery && r.Judge.held() && c.Op != change.Created: // nobody's
	case reason != "":
		r.violation(c, kindOfViolation(c), reason)
	case !r.recovery && r.builds(c.Path) && (c.From == "" || r.builds(c.From)):
		f.Hunks = nil
		r.outcome.Build = append(r.outcome.Build, hooks.FileOutcome{Change: f.Bare(), InScope: true})
		return
	}
	if len(r.outcome.Files) == maxRecorded {
		r.more++
		return
	}
	r.outcome.Files = append(r.outcome.Files, f)
	r.describe(c, f.Path)
}

// history notes a change of git's history. Where a git command may make it, it is recorded for what it is; where the
// kernel let nobody make it, it is not the command's. The rest is to be judged like a file.
func (r *report) history(c *snapshot.Change) (judged bool) {
	noted := r.recovery || r.Git // git may have been used since
	if noted {
		if reason := resumedBy(c); reason != "" {
			r.violation(c, hooks.History, reason)
		}
		r.gitChange(GitChange{Path: Shown(c.Path), Before: said(c.Before), After: said(c.After)})
	}
	return !noted && r.free()
}

// violation notes a change that the command should not have made.
func (r *report) violation(c *snapshot.Change, kind hooks.ViolationKind, reason string) {
	v := hooks.Violation{Path: Shown(c.Path), Op: c.Op, Kind: kind, Reason: reason}
	if r.recovery {
		v.Kind, v.Reason = "", reason+sinceStart
	} else {
		v.Wanted = r.wanted(c)
	}
	r.wrong = append(r.wrong, c)
	r.outcome.Violations = append(r.outcome.Violations, v)
}

// also adds a violation that nothing undoes, and charge does with what most of them have.
func (r *report) also(v hooks.Violation) { r.outcome.Violations = append(r.outcome.Violations, v) }

func (r *report) charge(path string, op change.Op, kind hooks.ViolationKind, reason string) {
	r.also(hooks.Violation{Path: Shown(path), Op: op, Kind: kind, Reason: reason})
}

func (r *report) warn(format string, args ...any) {
	r.outcome.Warnings = append(r.outcome.Warnings, fmt.Sprintf(format, args...))
}

// kindOfViolation says what a change was of.
func kindOfViolation(c *snapshot.Change) hooks.ViolationKind {
	switch {
	case gitState(c.Path):
		return hooks.History
	case c.Op != change.Modified || c.Before.Kind != c.After.Kind || c.Before.Kind == snapshot.Special:
		return ""
	case c.Before.Kind == snapshot.Directory, c.Before.Hash != "" && c.Before.Hash == c.After.Hash:
		return hooks.Metadata
	}
	return ""
}

// directories finds those out of scope of which no changed file tells. Directories have no place in a record but as violations.
func (r *report) directories() {
	for _, c := range r.dirs {
		if git := "/" + c.Path + "/"; strings.Contains(git, "/.git/") {
			if c.Op == change.Deleted && strings.HasSuffix(git, "/.git/objects/") && r.free() {
				r.violation(c, hooks.History, "all that git had committed")
			}
			continue // git makes and removes its own; what counts there is files
		}
		reason := r.Forbids(c.Path)
		below := func(path string) bool { return strings.HasPrefix(path, c.Path+"/") }
		told := func(f hooks.FileOutcome) bool { return below(f.Path) || below(f.From) }
		if reason != "" && !r.Allows(c.Path+"/x") && !slices.ContainsFunc(r.outcome.Files, told) && !slices.ContainsFunc(r.replayed, below) {
			r.violation(c, "", "a directory; "+reason)
		}
	}
}

// tell writes down what concerns all of it.
func (r *report) tell(found *snapshot.Difference) {
	if r.more > 0 {
		r.detail[DetailMore] = r.more
		r.warn("The command changed %d more files than a record can name.", r.more)
	}
	if _, is := r.detail[detailShared]; is {
		r.detail[detailCertainty] = "shared"
		r.warn("Another command ran at the same time; some of the changes may be its own (the record marks them).")
	}
	for _, path := range found.Given {
		r.note(detailGiven, Shown(path))
	}
	for _, gap := range found.Gaps {
		r.note(detailGaps, Shown(gap.String()))
	}
	if len(found.Gaps) > 0 {
		r.warn("Parts of the workspace could not be looked into, so changes there are not known (%s).", printable.Name(Shown(found.Gaps[0].String())))
	}
	if none, is := r.detail[detailNoImage].([]string); is {
		r.warn("The content before the change is not kept of %d files (%s); undo cannot bring it back.", len(none), printable.Name(none[0]))
	}
	if len(r.detail) > 0 {
		r.outcome.Command.Detail = r.detail
	}
}

// file is the outcome of one change. Of what has no name that a record can have, there is only that.
func (r *report) file(c *snapshot.Change) hooks.FileOutcome {
	f := hooks.FileOutcome{Change: change.Change{Op: c.Op, Path: Shown(c.Path), From: Shown(c.From)}, Knowledge: hooks.KnowsBySearch}
	if f.Path != c.Path || f.From != c.From {
		f.Unread = true
		return f
	}
	f.Before.Mode, f.After.Mode = modesOf(c)
	if c.Before != nil && c.Before.Kind == snapshot.File {
		f.Links = c.Before.Links
	}
	// Of what is secret not even a hash is written down: a short one can be guessed from it.
	for i, is := range []*snapshot.Content{c.Before, c.After} {
		if is == nil {
			continue
		}
		to := []*change.Version{&f.Before, &f.After}[i]
		f.Unread = f.Unread || !is.Known
		if !is.Secret {
			to.Hash, to.OID, to.Bytes = is.Hash, is.OID, is.Bytes
		}
	}
	if !f.Unread && c.Op != change.Moved {
		f.Hunks = r.hunks(c)
	}
	return f
}

// modesOf gives the permissions as records have them. Links have none, and those of unlike things do not compare.
func modesOf(c *snapshot.Change) (before, after change.Mode) {
	if c.Before != nil && c.After != nil && c.Before.Kind != c.After.Kind || kindOf(c) == snapshot.Link {
		return "", ""
	}
	if c.Before != nil {
		before = change.ModeOf(c.Before.Mode)
	}
	if c.After != nil {
		after = change.ModeOf(c.After.Mode)
	}
	return before, after
}

// hunks compares two texts. Those of binary contents, and of links, are not known.
func (r *report) hunks(c *snapshot.Change) [][4]int {
	var texts [2]string
	for i, content := range []*snapshot.Content{c.Before, c.After} {
		if content == nil {
			continue
		}
		if r.left -= content.Size; r.left < 0 || content.Kind != snapshot.File {
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
