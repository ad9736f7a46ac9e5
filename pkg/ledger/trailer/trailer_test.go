package trailer_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/trailer"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// project is a workspace below the top of a repository, with a tool that records what it writes.
type project struct {
	t      testing.TB
	top    string
	root   *os.Root
	ledger *ledger.Ledger
}

func newProject(t testing.TB) *project {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	top, err := filepath.EvalSymlinks(t.TempDir())
	check.OK(t, err)
	p := &project{t: t, top: top}
	check.OK(t, os.MkdirAll(filepath.Join(top, "sub dir", ".orchestration"), 0o755))
	p.root, err = os.OpenRoot(filepath.Join(top, "sub dir"))
	check.OK(t, err)
	p.ledger, err = ledger.Open(p.root, ledger.Options{Durability: ledger.DurabilityOS})
	check.OK(t, err)
	t.Cleanup(func() {
		check.OK(t, p.ledger.Close(context.Background()))
		report := check.Value(verify.Verify(context.Background(), p.root))(t)
		check.That(t, len(report.Problems) == 0, "the ledger ends with %+v", report.Problems)
		p.root.Close()
	})
	p.git("init", "-q")
	return p
}

func (p *project) git(args ...string) {
	p.t.Helper()
	check.Value(check.GitAt(p.top, time.Unix(1772000000, 0), args...))(p.t)
}

func (p *project) write(name, content string) {
	check.OK(p.t, p.root.WriteFile(name, []byte(content), 0o644))
}

// edit is a governed change; an empty content deletes. It returns the id of its record.
func (p *project) edit(intent, name, content string) string {
	return p.change(record.Record{IntentID: intent}, name, content)
}

// undo takes a record under intent B back, to a content that somebody worked out.
func (p *project) undo(id, name, content string) string {
	return p.change(record.Record{IntentID: "B", Detail: map[string]any{"undoes": []any{id}}}, name, content)
}

func (p *project) change(as record.Record, name, content string) string {
	c := record.Change{Change: change.Change{Op: change.Modified, Path: name}}
	before, err := p.root.ReadFile(name)
	if err != nil {
		c.Op = change.Created
	} else {
		c.Before.Hash, c.Before.OID = hash(before), p.ledger.BlobID(before)
	}
	if content == "" {
		c.Op = change.Deleted
		check.OK(p.t, p.root.Remove(name))
	} else {
		c.After.Hash, c.After.OID = hash([]byte(content)), p.ledger.BlobID([]byte(content))
		text := strings.TrimSuffix(content, "\n")
		c.Ranges = []record.Range{{StartLine: 1, EndLine: 1 + strings.Count(text, "\n"), ContentHash: hash([]byte(text))}}
		p.write(name, content)
	}
	return p.record(as, c)
}

func (p *project) move(intent, from, to string) {
	content := check.Value(p.root.ReadFile(from))(p.t)
	check.OK(p.t, p.root.Rename(from, to))
	oid := p.ledger.BlobID(content)
	p.record(record.Record{IntentID: intent}, record.Change{
		Change: change.Change{
			Op: change.Moved, Path: to, From: from, Before: change.Version{Hash: hash(content), OID: oid}, After: change.Version{Hash: hash(content), OID: oid},
		},
	})
}

func (p *project) record(as record.Record, c record.Change) string {
	as.Kind, as.Call, as.Changes = record.KindMutation, "x", []record.Change{c}
	e := check.Value(p.ledger.Append(context.Background(), as))(p.t)
	return e.ID
}

func hash(content []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(content)) }

func (p *project) staged() []string {
	p.t.Helper()
	return check.Value(trailer.Staged(context.Background(), p.root, trailer.Repository{Dir: p.top, Prefix: "sub dir/"}))(p.t)
}

func TestStagedIntents(t *testing.T) {
	add := func(p *project) { p.git("add", "-A") }
	for name, c := range map[string]struct {
		does func(p *project)
		want string
	}{
		"nothing staged":         {func(p *project) { p.edit("B", "f", "b\n") }, ""},
		"one change":             {func(p *project) { p.edit("B", "f", "b\n"); add(p) }, "B"},
		"what HEAD has is older": {func(p *project) { p.edit("B", "f", "b\n"); p.edit("C", "f", "c\n"); add(p) }, "B C"},
		"a new file":             {func(p *project) { p.edit("B", "new", "b\n"); add(p) }, "B"},
		"a deletion":             {func(p *project) { p.edit("B", "f", ""); add(p) }, "B"},
		"a move":                 {func(p *project) { p.move("B", "f", "g"); add(p) }, "B"},
		"an untracked change":    {func(p *project) { p.write("f", "person\n"); add(p) }, ""},
		"the first of two is staged": {func(p *project) {
			p.edit("B", "f", "b\n")
			add(p)
			p.edit("C", "f", "c\n")
		}, "B"},
		"taken back by git, then changed": {func(p *project) {
			p.edit("B", "f", "b\n")
			p.write("f", "a\n")
			p.edit("C", "f", "c\n")
			add(p)
		}, "C"},
		"there and back again": {func(p *project) { p.edit("B", "f", "b\n"); p.edit("C", "f", "a\n"); add(p) }, ""},
		"a person adds a line": {func(p *project) { p.edit("B", "f", "b\n"); p.write("f", "b\nperson\n"); add(p) }, "B"},
		"a person takes the line out": {func(p *project) {
			p.edit("B", "f", "b\n")
			p.write("f", "person\n")
			add(p)
		}, ""},
		"a person in between": {func(p *project) {
			p.edit("B", "f", "b\n")
			p.write("f", "b\nperson\n")
			p.edit("C", "f", "c\n")
			add(p)
		}, "B C"},
		"a parent that nobody recorded": {func(p *project) {
			p.write("f", "unknown\n")
			p.git("commit", "-qam", "person")
			p.edit("B", "f", "b\n")
			p.edit("C", "f", "c\n")
			add(p)
		}, "B C"},
		"many files": {func(p *project) {
			for i := range 20 {
				p.edit(fmt.Sprintf("I%02d", i%3), fmt.Sprint("n", i), fmt.Sprint(i, "\n"))
			}
			add(p)
		}, "I00 I01 I02"},
		"line ends that git converts": {func(p *project) {
			p.write(".gitattributes", "* text eol=crlf\n")
			p.edit("B", "crlf", "b\r\nb\r\n")
			add(p)
			p.git("commit", "-qm", "crlf")
			p.edit("C", "crlf", "c\r\nc\r\n")
			add(p)
		}, "C"},
		"undone, then a person's own": {func(p *project) {
			p.undo(p.edit("B", "f", "b\nmore\n"), "f", "a\n")
			p.write("f", "a\nperson\n")
			add(p)
		}, ""},
		"undone below a person's line": {func(p *project) {
			id := p.edit("B", "f", "a\nb\n")
			p.write("f", "person\na\nb\n")
			p.undo(id, "f", "person\na\n")
			add(p)
		}, ""},
		"undone below another intent's line": {func(p *project) {
			id := p.edit("B", "f", "a\nb\n")
			p.edit("C", "f", "c\na\nb\n")
			p.undo(id, "f", "c\na\n")
			add(p)
		}, "C"},
		"undone, and that undone": {func(p *project) {
			p.undo(p.undo(p.edit("B", "f", "b\n"), "f", "a\n"), "f", "b\n")
			add(p)
		}, "B"},
		"an undo of what is committed": {func(p *project) {
			id := p.edit("B", "f", "b\n")
			add(p)
			p.git("commit", "-qm", "b")
			p.undo(id, "f", "a\n")
			add(p)
		}, "B"},
		"a new file, undone, and a person's own": {func(p *project) {
			p.undo(p.edit("B", "new", "b\n"), "new", "")
			p.write("new", "person\n")
			add(p)
		}, ""},
		"written back by a tool, then a person's own": {func(p *project) {
			p.edit("B", "f", "b\n")
			p.edit("C", "f", "a\n")
			p.write("f", "a\nperson\n")
			add(p)
		}, ""},
		"an id that is none": {func(p *project) { p.edit("B\nSigned-off-by: x", "f", "b\n"); add(p) }, ""},
		"no commit yet":      {func(p *project) { p.git("checkout", "-q", "--orphan", "empty") }, "A"},
		"the ledger itself":  {func(p *project) { p.edit("B", "f", "b\n"); p.git("add", "sub dir/.orchestration") }, ""},
		"another workspace's file": {func(p *project) {
			check.OK(p.t, os.WriteFile(filepath.Join(p.top, "f"), []byte("b\n"), 0o644))
			p.edit("B", "f", "b\n")
			p.git("add", "--", ":(top)f")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.edit("A", "f", "a\n")
			add(p)
			p.git("commit", "-qm", "a")
			c.does(p)
			check.Equal(t, strings.Join(p.staged(), " "), c.want, "intents")
		})
	}
}

func TestAddKeepsAMessageThatIsGivenUp(t *testing.T) {
	p := newProject(t)
	file := filepath.Join(p.top, "message")
	for message, want := range map[string]string{
		"s\n":                          "s\n\nOrchestra-Intent: A\nOrchestra-Intent: B\n",
		"s\n\nOrchestra-Intent: B\n":   "s\n\nOrchestra-Intent: B\nOrchestra-Intent: A\n",
		"s\n\nReviewed-by: x\n":        "s\n\nReviewed-by: x\nOrchestra-Intent: A\nOrchestra-Intent: B\n",
		"s\n\nbody\n---\nno divider\n": "s\n\nbody\n---\nno divider\n\nOrchestra-Intent: A\nOrchestra-Intent: B\n",
		"":                             "",
		"# only comments\n":            "# only comments\n",
		"\n# x\n# ------------------------ >8 ------------------------\ndiff\n": "\n# x\n# ------------------------ >8 ------------------------\ndiff\n",
		"s\n# x\n# ------------------------ >8 ------------------------\ndiff\n": "s\n\nOrchestra-Intent: A\nOrchestra-Intent: B\n" +
			"# x\n# ------------------------ >8 ------------------------\ndiff\n",
	} {
		check.OK(t, os.WriteFile(file, []byte(message), 0o644))
		check.OK(t, trailer.Add(context.Background(), trailer.Repository{Dir: p.top}, file, []trailer.Trailer{{Key: trailer.Key, Value: "A"}, {Key: trailer.Key, Value: "B"}}))
		got := check.Value(os.ReadFile(file))(t)
		check.Equal(t, string(got), want, "%q became", message)
	}
}
