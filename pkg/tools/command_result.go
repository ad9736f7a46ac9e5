package tools

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/lazy"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/internal/printable"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/install"
	"github.com/intentgov/orchestra-mcp/pkg/command/replay"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

type commandResult struct {
	ExitCode     *int          `json:"exit_code" doc:"128 plus the signal's number where one ended it; null while it runs in the background."`
	TimedOut     bool          `json:"timed_out" doc:"Whether the timeout ended it."`
	DurationMS   int64         `json:"duration_ms" min:"0" doc:"Wall time."`
	Output       string        `json:"output" doc:"Standard output and error, head and tail if long."`
	ArtifactID   string        `json:"artifact_id" doc:"For read_command_output; empty if nothing was kept."`
	Truncated    bool          `json:"truncated" doc:"Whether output is not the whole."`
	ChangedFiles []changedFile `json:"changed_files" doc:"What the command changed in the workspace, as far as it was attributed."`
	Sandbox      string        `json:"sandbox" doc:"What held the command: full; landlock, which does not hold permissions, times and attributes; or none. What was not held is looked for afterwards, outside of the workspace in a list of places and in what the line names."`
	RecordID     string        `json:"record_id" doc:"The ledger record of the command."`
	Warnings     []string      `json:"warnings" optional:"true" doc:"What to know beside it."`
	CommandID    string        `json:"command_id,omitempty" doc:"Of a command in the background, for stop_command."`
	ProcessLimit *processLimit `json:"process_limit,omitempty"`
	Running      bool          `json:"running,omitempty" doc:"Whether it runs in the background now."`

	GitChanges     []observe.GitChange          `json:"git_changes,omitempty" doc:"What the command did to git's HEAD, refs of any kind, index, grafts and what is under way there (rebase, cherry-pick), where a git command may."`
	Packages       map[string]*observe.Packaged `json:"packages,omitempty" doc:"What changed in package directories of an install command, by directory: counted, in no list."`
	ChangeRecordID string                       `json:"change_record_id,omitempty" doc:"The ledger record of what was taken over of the command's changes."`
	StagedID       string                       `json:"staged_id,omitempty" doc:"What it did is kept under this id: nothing of it is in the workspace. commit_staged takes it over, discard_staged throws it away."`
	Diff           string                       `json:"diff,omitempty" doc:"What it did, with staged, as far as it is short."`
	Direct         string                       `json:"direct_because,omitempty" doc:"Why it worked on the workspace itself, at level full: what it changed was found afterwards."`
	Denied         []denial                     `json:"sandbox_denied,omitempty" doc:"What failed because the sandbox kept the command from it, as far as its output tells."`
	editedByOperator
}

type changedFile struct {
	Path      string    `json:"path" doc:"Workspace-relative."`
	Operation change.Op `json:"operation" enum:"created,modified,deleted,moved" doc:"What became of the file."`
	InScope   bool      `json:"in_scope" doc:"Whether the command may change it under the selected intent."`
	From      string    `json:"from,omitempty" doc:"Of a moved file: where it was."`
	Build     bool      `json:"build,omitempty" doc:"Build output, in a place that is meant for it."`
}

func (c *commandCall) Result(o *hooks.Outcome) (hooks.Result, error) {
	if c.answer != nil {
		return *c.answer, nil
	}
	if c.job != nil {
		return c.startResult(o)
	}
	if err := c.takeOver(o.RecordID); err != nil {
		return hooks.Result{}, err
	}
	r := c.result
	result := commandResult{
		ExitCode: &r.ExitCode, TimedOut: r.TimedOut, DurationMS: r.Duration.Milliseconds(), Output: r.Output,
		ArtifactID: r.ArtifactID, Truncated: r.Truncated, ChangedFiles: []changedFile{}, Sandbox: o.Command.Sandbox,
		RecordID: o.RecordID, Warnings: append([]string{}, o.Warnings...), ProcessLimit: limitOf(r.Limit), editedByOperator: editedByOperator{o.Edited},
	}
	result.ChangedFiles, result.Warnings = changedFiles(o, result.Warnings)
	c.tellStage(&result)
	var b strings.Builder
	fmt.Fprintf(&b, "exit code: %d", r.ExitCode)
	if r.TimedOut {
		b.WriteString(" (timed out)")
	}
	if r.Cancelled {
		b.WriteString(" (cancelled)")
	}
	if result.StagedID != "" { // here too, for whoever is shown the first lines alone
		b.WriteString(" (nothing of it is in the workspace)")
	}
	fmt.Fprintf(&b, "\n[%d ms, sandbox: %s%s, record: %s]\n", result.DurationMS, heldText(result.Sandbox), directText(result.Direct), cmp.Or(result.ChangeRecordID, result.RecordID))
	b.WriteString(r.Output)
	if r.Truncated && r.ArtifactID != "" {
		fmt.Fprintf(&b, "\n[output cut: read_command_output with artifact_id: %q has the whole]", r.ArtifactID)
	}
	listChanges(&b, result.ChangedFiles)
	result.GitChanges, result.Denied = gitChanges(o), c.denied
	if result.Packages == nil {
		result.Packages = packagesOf(o)
	}
	listGit(&b, result.GitChanges)
	listPackages(&b, result.Packages)
	listDenied(&b, result.Denied)
	b.WriteString(c.stagedText(&result) + editedText(o) + warned(result.Warnings))
	if c.stage != nil && c.stage.refused != nil {
		return c.notTaken(result)
	}
	if len(o.Violations) > 0 {
		return c.outOfScope(o, result)
	}
	return hooks.NewResult(b.String(), result)
}

// maxShown bounds the changed files that a result names.
const maxShown = 200

// changedFiles lists what the agent is told of the changes, those that it should not have made first.
func changedFiles(o *hooks.Outcome, warnings []string) ([]changedFile, []string) {
	files := []changedFile{}
	for _, f := range o.Changed() {
		files = append(files, changedFile{Path: f.Path, Operation: f.Op, From: f.From, InScope: f.InScope})
	}
	for _, f := range o.Build {
		files = append(files, changedFile{Path: f.Path, Operation: f.Op, From: f.From, InScope: true, Build: true})
	}
	slices.SortStableFunc(files, func(a, b changedFile) int {
		switch {
		case a.InScope == b.InScope:
			return 0
		case b.InScope:
			return -1
		}
		return 1
	})
	if more := len(files) - maxShown; more > 0 {
		warnings = append(warnings, fmt.Sprintf("The command changed %d files; %d of them are not listed here (the ledger has them).", len(files), more))
		files = files[:maxShown]
	}
	return files, warnings
}

// inText bounds the changed files in the text of a result.
const inText = 20

func listChanges(b *strings.Builder, files []changedFile) {
	for i, f := range files {
		if i == inText {
			note(b, "[changed: and %d more]", len(files)-inText)
			return
		}
		note(b, "[%s: %s]", f.Operation, printable.Name(f.Path))
	}
}

// violationView is a violation as the agent sees it.
type violationView struct {
	Path      string    `json:"path"`
	Operation change.Op `json:"operation"`
	Reason    string    `json:"reason"`
	Reverted  bool      `json:"reverted"`
	// Kind is "" for a content or a name in the workspace.
	Kind hooks.ViolationKind `json:"kind,omitempty"`
}

// heldText says in a result's text what held the command, and what did not.
func heldText(level string) string {
	switch sandbox.Level(level) {
	case sandbox.None:
		return "none (nothing held it; of what is outside of the workspace only a list of places was looked at)"
	case sandbox.Seatbelt:
		return "seatbelt (macOS's Seatbelt, which a trial found to hold; what it changed was looked for as if nothing had held it)"
	case sandbox.Landlock:
		return "landlock (permissions, times and attributes were not held; reading was only of what is secret)"
	}
	return level
}

// outOfScope is the answer to a command that changed what it should not have:
// a refusal that has the fields of the result too, as the command did run.
func (c *commandCall) outOfScope(o *hooks.Outcome, result commandResult) (hooks.Result, error) {
	return mergedResult(result, outOfScope(c.call, o), string(c.call.Class))
}

func outOfScope(call *hooks.Call, o *hooks.Outcome) *refusal.Refusal {
	var views []violationView
	var standing, wanted, closed []string
	for _, v := range o.Violations {
		if len(views) < maxShown {
			views = append(views, violationView{v.Path, v.Op, v.Reason, v.Reverted, v.Kind})
		}
		if !v.Reverted {
			standing = append(standing, v.Path)
		}
		if wanted = append(wanted, v.Wanted...); v.Wanted == nil {
			closed = append(closed, v.Path)
		}
	}
	first := o.Violations[0]
	r := refusal.Newf(refusal.CommandOutOfScope, "The command ran and changed %d paths that it may not change, among them [%s]: %s.", len(o.Violations), printable.Name(first.Path), printable.Text(first.Reason)).
		With("violations", views).With("violations_total", len(o.Violations)).With("record_id", o.RecordID)
	if call.Intent != nil {
		r = r.With("intent_id", call.Intent.ID).With("owned_scope", call.Intent.OwnedScope)
	}
	next := "All of these changes were undone. Have it change only files in the scope"
	if o.RecordID == "" {
		next = "Nothing was changed. Have it change only files in the scope"
	}
	if len(standing) > 0 {
		next = fmt.Sprintf("Tell the user: these changes stand (%d paths, first %q), and the ledger has them as violations. Undo them", len(standing), standing[0])
	}
	if len(wanted) > 0 {
		next += fmt.Sprintf(", or call request_scope_expansion with paths: %s and the reason", gate.WantedScope(wanted))
		if o.RecordID == "" {
			next += ", and then commit_staged: what the command did is kept"
		}
	} else {
		r = r.WithHint(refusal.HintAskUser)
	}
	next += "."
	if len(closed) > 0 {
		next += fmt.Sprintf(" No scope opens %q; if the work needs it, ask the user.", closed[0])
	}
	return r.Suggest("%s", next)
}

// gitChanges are what a command that may did to git's history.
func gitChanges(o *hooks.Outcome) []observe.GitChange {
	changes, _ := o.Command.Detail[observe.DetailGit].([]observe.GitChange)
	return changes
}

// listGit shows them in the text of a result.
func listGit(b *strings.Builder, changes []observe.GitChange) {
	for i, c := range changes {
		if i == inText {
			note(b, "[git: and %d more]", len(changes)-inText)
			return
		}
		note(b, "[git: %s: %s → %s]", printable.Name(c.Path), orNothing(c.Before), orNothing(c.After))
	}
}

func orNothing(s string) string {
	if s == "" {
		return "nothing"
	}
	return fmt.Sprintf("%.80q", s)
}

// notAlone says how git is not stopped midway: a line that runs other programs too is not rehearsed.
func (c *commandCall) notAlone() []string {
	if c.result.ExitCode == 0 || len(c.denied) == 0 || !runsGit(c.effect.Reading) {
		return nil
	}
	if line := replay.ReadLine(c.effect.Reading); line.Changes && !line.Alone {
		return []string{line.First + " was stopped midway by the sandbox. In a line of git commands alone it is found out before what stands against it; what it left half done in the scope comes back by git restore."}
	}
	return nil
}

// stoppedGit is what git says where it would write over the ledger, or tried.
var stoppedGit = lazy.Regexp(`(?i)unstaged changes|your local changes\b.* would be overwritten|unable to (?:unlink old|create file) '?\.orchestration/`)

// ledgerInTheWay says why git did not go to another commit, and that to commit and try again does not help: the commit adds a
// record too. A switch that git calls good went on without the ledger: what is committed next would take records out of it.
func (c *commandCall) ledgerInTheWay(ctx context.Context) []string {
	if !runsGit(c.effect.Reading) || !stoppedGit().MatchString(c.result.Output) {
		return nil
	}
	tracked, err := c.Observer.Git.Ask(ctx, "ls-files", "--cached", "--", orchdir.Name+"/agent_trace.jsonl", orchdir.Name+"/trace")
	if err != nil || tracked == "" {
		return nil
	}
	if c.result.ExitCode == 0 {
		return []string{"Git keeps the ledger, which no command can write: where git went to another commit, the ledger stayed as it was, and may lack records of that commit. " +
			"Before you commit, ask the user to run orchestra-mcp ledger restore."}
	}
	return []string{"Git keeps the ledger, to which each command adds a record, and which no command can write: git switch, rebase, merge, pull and stash stop at it. " +
		"Do not commit and try again: ask the user to commit .orchestration and to run this git command. What git left half done in the scope comes back by git restore."}
}

// installs adds the manifests and lock files of install commands to what the
// line writes: they are in scope, or asked about once, before anything runs.
func (c *commandCall) installs() {
	c.install = install.Find(c.Workspace.Dir(), c.cwd.Path, c.effect.Reading)
	if c.install == nil {
		return
	}
	purpose := fmt.Sprintf("Install dependencies (%s)", strings.Join(c.install.Commands, ", "))
	for _, name := range c.install.Files {
		target, effect := c.target(name)
		_ = target.Close()
		known := slices.ContainsFunc(c.targets, func(f *hooks.FileEffect) bool { return f.Mutates() && f.Path == effect.Path })
		if effect.Problem == nil && !known {
			effect.Purpose = purpose
			c.targets = append(c.targets, effect)
		}
	}
}

func packagesOf(o *hooks.Outcome) map[string]*observe.Packaged {
	counts, _ := o.Command.Detail[observe.DetailPackages].(map[string]*observe.Packaged)
	return counts
}

// listPackages shows them in the text of a result.
func listPackages(b *strings.Builder, counts map[string]*observe.Packaged) {
	for _, place := range slices.Sorted(maps.Keys(counts)) {
		n := counts[place]
		note(b, "[packages in %s: %d files created, %d modified, %d deleted]", printable.Name(place), n.Created, n.Modified, n.Deleted)
	}
}

// processLimit says how many processes a command could have, and what held it to that.
type processLimit struct {
	Max     int    `json:"max" min:"0" doc:"How many processes the command could have at a time."`
	By      string `json:"by" enum:"cgroup,watchdog,nothing" doc:"What held it to that: the kernel, which counts threads too, a watchdog, which ends what has more, or nothing on this system."`
	Reached bool   `json:"reached" doc:"Whether it wanted more."`
}

func limitOf(l command.Limit) *processLimit {
	return &processLimit{l.Processes, cmp.Or(l.By, "nothing"), l.Reached}
}

// note adds a line of ours to the text of a result. Whatever stands in it, it is
// one line: a file's name can have line ends, and must not pass for a note.
func note(b *strings.Builder, format string, args ...any) {
	b.WriteString("\n" + printable.Text(fmt.Sprintf(format, args...)))
}

// warned is what warnings add to the text of a result.
func warned(warnings []string) string {
	var b strings.Builder
	for _, w := range warnings {
		note(&b, "Note: %s", w)
	}
	return b.String()
}
