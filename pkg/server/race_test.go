package server_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// between runs f when the next call has been checked and not yet executed: where a foreign program would slip in.
func (b *bench) between(f *func()) {
	b.server.AddPreHook(hooks.PreFunc("between", func(context.Context, *hooks.Call) (hooks.Decision, error) {
		if *f != nil {
			(*f)()
			*f = nil
		}
		return hooks.Allow(), nil
	}))
}

// The expected content is what is there at the moment of the swap, not only
// at the check: who slips in between loses nothing, and the agent is told.
func TestForeignWritersBetweenCheckAndSwap(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	var slip func()
	b.between(&slip)
	b.connect()
	b.Selects("INT-005")
	path := filepath.Join(b.dir, "src/a.txt")
	for name, c := range map[string]struct {
		tool string
		args args
		slip func()
		want map[string]string
		code string
	}{
		"modified": {"edit_file", args{"path": "src/a.txt", "old_string": "two", "new_string": "2"},
			func() { check.Write(t, b.dir, "src/a.txt", "foreign\n") }, map[string]string{"src/a.txt": "foreign\n"}, "STALE_FILE"},
		"replaced": {"write_to_file", args{"path": "src/a.txt", "content": "mine\n"}, func() {
			check.Write(t, b.dir, "src/new", "foreign\n")
			check.OK(t, os.Rename(filepath.Join(b.dir, "src/new"), path))
		}, map[string]string{"src/a.txt": "foreign\n"}, "STALE_FILE"},
		"created": {"write_to_file", args{"path": "src/fresh.txt", "content": "mine\n"},
			func() { check.Write(t, b.dir, "src/fresh.txt", "foreign\n") }, map[string]string{"src/fresh.txt": "foreign\n"}, "STALE_FILE"},
		"moved onto": {"apply_patch", args{"patch": patch("*** Update File: src/a.txt", "*** Move to: src/to.txt")},
			func() { check.Write(t, b.dir, "src/to.txt", "foreign\n") }, map[string]string{"src/to.txt": "foreign\n", "src/a.txt": "one\ntwo\nthree\n"}, "STALE_FILE"},
		"the third of a patch": {"apply_patch", args{"patch": patch("*** Add File: src/p", "+x", "*** Update File: docs/other.md", "@@", "-# Other", "+# Its", "*** Update File: src/a.txt", "@@", "-one", "+1")},
			func() { check.Write(t, b.dir, "src/a.txt", "foreign\n") }, map[string]string{"src/a.txt": "foreign\n", "src/p": "", "docs/other.md": "# Other\n"}, "STALE_FILE"},
	} {
		check.Write(t, b.dir, "src/a.txt", "one\ntwo\nthree\n")
		b.OK("read_file", args{"path": "src/a.txt"})
		slip = c.slip
		r := b.Refused(c.code, c.tool, c.args)
		check.That(t, strings.Contains(r.Text, "foreign"), "%s: the refusal does not show what is there: %s", name, r.Text)
		b.holds(c.want)
		for _, made := range []string{"src/fresh.txt", "src/to.txt"} {
			_ = os.Remove(filepath.Join(b.dir, made))
		}
	}
	left, err := filepath.Glob(filepath.Join(b.dir, "src/.orchestra-*"))
	check.That(t, err == nil && len(left) == 0, "temporary files are left: %v %v", left, err)
}

// A directory that is swapped for a link after the check is not entered.
func TestDirectorySwappedForALink(t *testing.T) {
	t.Parallel()
	b := start(t, newWorkspace(t))
	var slip func()
	b.between(&slip)
	b.connect()
	b.Selects("INT-001")
	outside := t.TempDir()
	check.Write(t, outside, "a.txt", "outside\n")
	for _, arguments := range []args{{"path": "src/a.txt", "old_string": "one", "new_string": "1"}, {"path": "src/n.txt", "content": "x"}} {
		slip = func() {
			check.OK(t, os.Rename(filepath.Join(b.dir, "src"), filepath.Join(b.dir, "was")))
			link(t, outside, filepath.Join(b.dir, "src"))
		}
		tool := "edit_file"
		if arguments["content"] != nil {
			tool = "write_to_file"
		}
		b.Refused("BUSY", tool, arguments)
		got, err := os.ReadFile(filepath.Join(outside, "a.txt"))
		check.Must(t, err == nil && string(got) == "outside\n", "outside: %q %v", got, err)
		if _, err := os.Stat(filepath.Join(outside, "n.txt")); err == nil {
			t.Fatal("a file was made outside")
		}
		check.OK(t, os.Remove(filepath.Join(b.dir, "src")))
		check.OK(t, os.Rename(filepath.Join(b.dir, "was"), filepath.Join(b.dir, "src")))
	}
	slip = func() {
		check.OK(t, os.Rename(filepath.Join(b.dir, "src"), filepath.Join(b.dir, "was")))
		link(t, outside, filepath.Join(b.dir, "src"))
	}
	r := b.Call("execute_command", args{"command": "pwd -P; touch made", "cwd": "src"})
	if _, err := os.Stat(filepath.Join(outside, "made")); err == nil {
		t.Errorf("a command ran outside: %s", r.Text)
	}
}

// interrupted is a tool that changes two files, and lets something happen when both changes are visible and not yet recorded.
type interrupted struct {
	files *workspace.Workspace
	then  func()
}

func (interrupted) Spec() hooks.Spec {
	return hooks.Spec{
		Name: "interrupted", Title: "Change two files", Class: hooks.Destructive, Description: "Append a line to two files.",
		InputSchema:  hooks.SchemaText(`{"type":"object","properties":{"session":{"type":"string"}}}`),
		OutputSchema: hooks.SchemaText(`{"type":"object"}`),
	}
}

func (i interrupted) Decode(hooks.Arguments) (hooks.Decoded, error) { return i, nil }

func (i interrupted) Targets(context.Context, *hooks.Call) (hooks.Targeted, error) {
	c := &interruptedCall{interrupted: i}
	for _, path := range []string{"src/a.txt", "src/b.txt"} {
		target, err := i.files.Resolve(path)
		if err != nil {
			return nil, refusal.Newf(refusal.PathOutsideWorkspace, "%v.", err)
		}
		c.targets = append(c.targets, target)
		c.effects = append(c.effects, &hooks.FileEffect{
			Change: change.Change{Op: change.Modified, Path: path}, Requested: path, Protection: target.Protection(), Knowledge: hooks.KnowsBySearch,
		})
	}
	return c, nil
}

type interruptedCall struct {
	interrupted
	targets []*workspace.Target
	effects []*hooks.FileEffect
}

func (c *interruptedCall) Effects() hooks.Effects { return hooks.Effects{Files: c.effects} }
func (c *interruptedCall) Close() error {
	for _, t := range c.targets {
		t.Close()
	}
	return nil
}

func (c *interruptedCall) Plan(context.Context) (hooks.Planned, error) {
	for i, e := range c.effects {
		content, err := c.targets[i].Read(1 << 20)
		if err != nil {
			return nil, err
		}
		e.Before.Bytes, e.Before.Hash = content.Bytes, content.Hash
		e.After.Bytes = append(slices.Clone(content.Bytes), "appended\n"...)
		e.After.Hash = workspace.HashOf(e.After.Bytes)
		e.Hunks = edit.Hunks(string(e.Before.Bytes), string(e.After.Bytes))
	}
	return c, nil
}

func (c *interruptedCall) Prepare(ctx context.Context) (hooks.Prepared, error) {
	var changes []workspace.Change
	outcome := &hooks.Outcome{}
	for i, e := range c.effects {
		changes = append(changes, workspace.Change{Op: change.Modified, Target: c.targets[i], Before: e.Before.Hash, After: e.After.Bytes})
		outcome.Files = append(outcome.Files, hooks.FileOutcome{Change: e.Change, InScope: true})
	}
	prepared, err := c.files.Prepare(ctx, changes)
	if err != nil {
		return nil, err
	}
	return &interruptedChange{prepared, outcome, c.then}, nil
}

func (c *interruptedCall) Result(*hooks.Outcome) (hooks.Result, error) {
	return hooks.Result{Text: "done", Structured: json.RawMessage(`{}`)}, nil
}

type interruptedChange struct {
	*workspace.Prepared
	outcome *hooks.Outcome
	then    func()
}

func (c *interruptedChange) Pending() *hooks.Pending {
	return &hooks.Pending{Outcome: c.outcome, Files: c.Plan()}
}

func (c *interruptedChange) Commit(ctx context.Context) (*hooks.Outcome, error) {
	settlement, err := c.Prepared.Commit(ctx)
	if err != nil {
		return nil, err
	}
	c.outcome.Settlement = settlement
	c.then()
	return c.outcome, nil
}

// TestForeignWriterInTheWayOfARollback: the ledger does not take a record, and one of the two files was changed by
// somebody else before the change could be taken back. What stands of it is recorded as soon as the ledger can be
// written, and nothing of the other's content is lost.
//
// A writer in place is made to wait by the kernel until it takes our lease away,
// 45 s by default: ORCHESTRA_LONG=1 does that too.
func TestForeignWriterInTheWayOfARollback(t *testing.T) {
	t.Parallel()
	t.Run("renamed into place", func(t *testing.T) {
		foreignWriterInTheWay(t, func(t *testing.T, dir, name, content string) {
			check.Write(t, dir, name+".new", content)
			check.OK(t, os.Rename(filepath.Join(dir, name+".new"), filepath.Join(dir, name)))
		})
	})
	if check.Long() {
		t.Run("written in place", func(t *testing.T) {
			foreignWriterInTheWay(t, func(t *testing.T, dir, name, content string) { check.Write(t, dir, name, content) })
		})
	}
}

func foreignWriterInTheWay(t *testing.T, overwrite func(t *testing.T, dir, name, content string)) {
	dir := newWorkspace(t)
	check.Write(t, dir, "src/b.txt", "bee\n")
	const theirs = "one\ntwo\nthree\nappended\nby somebody else\n"
	unblock := func() {}
	b := start(t, dir)
	check.OK(t, b.server.AddTool(interrupted{b.server.Workspace(), func() {
		overwrite(t, dir, "src/a.txt", theirs)
		unblock = block(t, ledgertest.File(dir))
	}}))
	b.connect()
	session := b.Selects("INT-001")
	b.OK("write_to_file", args{"session": session, "path": "src/first.txt", "content": "1\n"})

	refused := b.Refused("LEDGER_UNAVAILABLE", "interrupted", args{"session": session})
	check.Equal(t, refused.Details()["changed"], true, "the agent is told changed")
	check.Equal(t, b.read("src/a.txt"), theirs, "somebody else's content became")
	check.Equal(t, b.read("src/b.txt"), "bee\n", "the other file was not taken back")
	unblock()
	b.OK("write_to_file", args{"session": session, "path": "src/second.txt", "content": "2\n"})

	found, err := b.server.Ledger().Query(t.Context(), record.Filter{Kinds: []record.Kind{record.KindRecovered}})
	check.Must(t, err == nil && len(found.Entries) == 1, "%d records tell of what stands: %v", len(found.Entries), err)
	standing := found.Entries[0]
	check.That(t, len(standing.Changes) == 1 && standing.Changes[0].Path == "src/a.txt" && standing.Detail["partial"] == true,
		"what stands is recorded as %+v, %v", standing.Changes, standing.Detail)
	left, _ := filepath.Glob(filepath.Join(dir, ".orchestration/state/inflight/*.json"))
	check.That(t, len(left) == 0, "the journal still has %v", left)
	if _, err := os.Stat(filepath.Join(dir, "src/second.txt")); err != nil {
		t.Error(err)
	}
}
