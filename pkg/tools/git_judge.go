package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/pkg/command/layer"
	"github.com/intentgov/orchestra-mcp/pkg/command/replay"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/gate"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/observe"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// judging is what the paths of one rehearsal are held against.
type judging struct {
	*rehearsal
	rules *observe.Judge
	// was and is are what git itself makes, before the line and behind it.
	was, is *replay.Standing
	judge   *replay.Judge
	left    map[string]string
	lost    []string
}

// judgeChanges tells what of the changes out of scope git made of people's commits, and
// refuses what would lose a person's work. The rest is the gate's.
func (r *rehearsal) judgeChanges(ctx context.Context, scratch string, trusted []string) error {
	git := r.Observer.Git
	j := &judging{rehearsal: r, rules: r.judgeUnheld()}
	var err error
	j.judge, err = git.Judge(scratch, r.after, trusted, j.rules.Allows)
	if err != nil {
		return err
	}
	var words []string
	if r.git.Uncommitted {
		words = git.Commits(ctx, r.git.Words)
	}
	j.was, j.is = j.judge.Standing(ctx, r.before.State(), words), j.judge.Standing(ctx, r.after.State().With(r.before.State()), words)
	if j.left, err = git.Trust().Left(ctx); err != nil {
		return err
	}
	for _, t := range r.changes {
		if j.rules.Allows(t.Path) {
			continue
		}
		if err := j.path(ctx, t); err != nil {
			return err
		}
	}
	if len(j.lost) > 0 {
		return r.typed(refusal.AtPath(refusal.CommandBlocked, j.lost[0], "%s would overwrite or remove content out of the scope that no person has committed: %s.", r.git.First, orderly(j.lost)).
			With("paths", j.lost[:min(len(j.lost), maxShown)]))
	}
	return j.staged(ctx)
}

// path judges one that the law closes.
func (j *judging) path(ctx context.Context, t layer.Touched) error {
	j.seen[t.Path] = j.stands(t.Path) // before it is read
	before, err := j.Observer.Git.Entry(t.Before)
	if err != nil {
		return err
	}
	after, err := j.Observer.Git.Entry(t.After)
	if err != nil {
		return err
	}
	open := j.rules.Wanted(t.Path) != nil // to a scope
	if before == after {
		if !open {
			j.rewritten = append(j.rewritten, t.Path)
		}
		return nil
	}
	if before.ID != "" {
		stands, err := j.was.Has(ctx, t.Path, before, content(t.Before))
		if err == nil && !stands && j.left[t.Path] != before.ID {
			stands, err = j.judge.Committed(ctx, t.Path, before.ID)
			if !stands {
				j.lost = append(j.lost, t.Path)
			}
		}
		if err != nil {
			return err
		}
	}
	made, err := j.is.Has(ctx, t.Path, after, content(t.After))
	if err != nil {
		return err
	}
	if made && open {
		j.exempt[t.Path] = true
		return nil
	}
	effect := j.effectOf(t)
	if effect.Protection == workspace.ProtectNever || effect.Protection == workspace.ProtectOwn {
		return j.protected(t.Path)
	}
	effect.Reproduced = made
	j.effects = append(j.effects, effect)
	return nil
}

// protected is why a line does not run that would change what is nobody's.
func (r *rehearsal) protected(path string) error {
	why := "belongs to the governance files or to git, which no command changes"
	if path == orchdir.Name+"/agent_trace.jsonl" || strings.HasPrefix(path, orchdir.Name+"/trace/") {
		why = "is the ledger, which git keeps here and no command writes. Each command adds a record, so to commit and try again does not help"
	}
	return r.never(path, "would change %s: it %s.", path, why)
}

// locked refuses a line that would stop midway at locks of git's.
func (r *rehearsal) locked(locks []string) *refusal.Refusal {
	for i, lock := range locks {
		if way, err := filepath.Rel(r.where.Root, lock); err == nil && filepath.IsLocal(way) {
			locks[i] = way
		}
	}
	return refusal.Newf(refusal.Busy, "%s was not started: %s is there, so another git command runs, or one was killed and left it.", r.git.First, orderly(locks)).
		Suggest("Nothing was changed. Try again; if it stays and no git command runs here, remove it: git status; rm -f '%s'", strings.Join(locks, "' '")).With("paths", locks)
}

// stands is what is at a path of the work tree; nil for nothing.
func (r *rehearsal) stands(path string) fs.FileInfo {
	info, err := os.Lstat(filepath.Join(r.where.Root, filepath.FromSlash(path)))
	if err != nil {
		return nil
	}
	return info
}

// overtaken refuses a line if a person did something to the branches, or to files out of scope that it changes, since it
// was rehearsed: it would stop midway, or take that away.
func (r *rehearsal) overtaken(now replay.Refs) error {
	what := ""
	if now.Text != r.refs.Text || r.before.Branch() != r.branch {
		what = "a branch moved"
	}
	for path, was := range r.seen {
		is := r.stands(path)
		if (is == nil) != (was == nil) || is != nil && (!os.SameFile(is, was) || is.Mode() != was.Mode() || is.Size() != was.Size() || !is.ModTime().Equal(was.ModTime())) {
			what = path + " was saved"
		}
	}
	if what == "" {
		return nil
	}
	return refusal.Newf(refusal.Busy, "%s was not started: %s after it was rehearsed.", r.git.First, what).Suggest("Nothing was changed. Run it again.")
}

// staged refuses a line that would drop what is staged out of scope and stands in no commit.
func (j *judging) staged(ctx context.Context) error {
	before := j.before.State()
	if before.Head == "" {
		return nil
	}
	git := j.Observer.Git
	staged, err := git.Staged(ctx, before.Head)
	if err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(staged)) {
		blob := staged[path]
		if j.rules.Allows(path) || j.left[path] == blob {
			continue
		}
		known, err := j.judge.Committed(ctx, path, blob)
		if err != nil {
			return err
		}
		if known {
			continue
		}
		if now, err := git.Indexed(ctx, j.after.Own.Find("index").At, path); err != nil || now != blob {
			return j.typed(refusal.AtPath(refusal.CommandBlocked, path, "%s would drop staged content out of the scope that no person has committed: %s.", j.git.First, path))
		}
	}
	return nil
}

// orderly names some paths.
func orderly(paths []string) string {
	const most = 5
	text := strings.Join(paths[:min(most, len(paths))], ", ")
	if more := len(paths) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// content reads what stands at a place as git's blobs have it.
func content(n layer.Node) func() (string, error) {
	return func() (string, error) {
		text, err := durable.ReadRegular(n.At, 16<<20)
		return string(text), err
	}
}

// guards refuses what no scope and no operator opens.
func (r *rehearsal) guards() error {
	if locks := r.before.Locks(); r.exit != 0 && len(locks) > 0 {
		return r.locked(locks)
	}
	if len(r.guarded) > 0 {
		return r.never(".git/"+r.guarded[0], "would change .git/%s, which no command may.", r.guarded[0])
	}
	if r.exit != 0 && r.git.Fetches && len(r.changes) == 0 && len(r.remotes) == 0 { // another time it may go on, where nothing is open for it
		return r.typed(refusal.Newf(refusal.CommandBlocked, "%s failed when it was rehearsed, with exit code %d: %s", r.git.First, r.exit, clip(strings.TrimSpace(r.output), 2000)))
	}
	before, after := r.before.Ledger(), r.after.Ledger()
	for name, id := range before {
		if after[name] != id {
			return r.never(".git/"+name, "would move %s, which only orchestra-mcp moves.", name)
		}
	}
	for _, name := range observe.ResumedFiles() {
		was, _ := r.before.Own.Read(name, observe.MaxTodo)
		now, err := r.after.Own.Read(name, observe.MaxTodo)
		if err != nil && !r.after.Own.Find(name).There {
			continue
		}
		if reason := observe.Resumed(".git/"+name, string(was), string(now), err == nil); reason != "" {
			return r.never(".git/"+name, "would stop midway and leave .git/%s: %s.", name, reason)
		}
	}
	return r.secrets()
}

// secrets finds a secret path that git was kept from: it stands in git's errors, wherever the line sends them and whatever
// it does behind them.
func (r *rehearsal) secrets() error {
	if !r.call.Ignore.Kinds().Secrets || !r.after.Own.Find(gitEvents).There {
		return nil
	}
	events, err := r.after.Own.Read(gitEvents, maxEvents)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(events) {
		var event struct{ Event, Msg string }
		if json.Unmarshal(line, &event) != nil || event.Event != "error" {
			continue
		}
		if err := r.secretIn(event.Msg); err != nil {
			return err
		}
	}
	return nil
}

// secretIn refuses a message that names a secret path.
func (r *rehearsal) secretIn(message string) error {
	for _, word := range strings.FieldsFunc(message, func(c rune) bool { return strings.ContainsRune(" \t\n'\":", c) }) {
		word = strings.TrimPrefix(word, r.where.Root+"/")
		if path.IsAbs(word) {
			continue
		}
		if rule, is := r.call.Ignore.Secret(word); is {
			return r.typed(gate.SecretPath(word, rule))
		}
	}
	return nil
}

// gitEvents is the file in the layer of git's own directory to which a rehearsed git tells what it does, in the event format
// of its trace2, a JSON object a line (git 2.22). maxEvents bounds it, in bytes: some 7,000 commits of a rebase.
const (
	gitEvents = "ORCHESTRA_EVENTS"
	maxEvents = 64 << 20
)
