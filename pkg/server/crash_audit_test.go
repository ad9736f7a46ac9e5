//go:build unix

package server_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// audit holds a workspace, in which only governed calls change files, against its ledger.
type audit struct {
	t            *testing.T
	dir          string
	start        map[string]string // hash and mode of each file before the first call
	acknowledged map[string]bool   // record ids that a result has named

	// afterCut: contents can be torn where nobody looks for them. What is torn
	// under a temporary name is kept aside, since it could be anybody's.
	afterCut bool
	// gapsMeant: decisions can be lost, which is a problem that verify finds.
	gapsMeant bool

	records, recovered, probable, partial, leftovers int
}

func newAudit(t *testing.T, dir string) *audit {
	a := &audit{t: t, dir: dir, acknowledged: map[string]bool{}}
	a.start = a.files()
	return a
}

// files hashes the workspace's files, temporary ones beside a target included, and adds their modes.
func (a *audit) files() map[string]string {
	a.t.Helper()
	found := map[string]string{}
	check.OK(a.t, filepath.WalkDir(a.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == ".orchestration") {
			return filepath.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		content, err := os.ReadFile(path)
		rel, _ := filepath.Rel(a.dir, path)
		info, unseen := os.Stat(path)
		if unseen != nil {
			return unseen
		}
		found[rel] = string(workspace.HashOf(content)) + " " + string(change.ModeOf(info.Mode()))
		return err
	}))
	return found
}

// check replays the ledger from the first state. Each record must follow from the one before it, and the last state
// must be that of the disk: so no change is missing, and none is claimed that did not happen.
func (a *audit) check(when string) {
	a.t.Helper()
	root := check.Value(os.OpenRoot(a.dir))(a.t)
	defer root.Close()
	agenttest.Verify(a.t, a.dir, a.gapsMeant)
	check.Must(a.t, !a.t.Failed(), "%s", when)
	l := check.Value(ledger.Open(root, ledger.Options{}))(a.t)
	defer l.Close(context.Background())
	all := check.Value(l.Query(context.Background(), record.Filter{}))(a.t)
	state, seen := map[string]string{}, map[string]bool{}
	for path, hash := range a.start {
		state[path] = hash
	}
	a.recovered, a.probable = 0, 0
	for _, e := range all.Entries {
		check.Must(a.t, !seen[e.ID], "%s: record %s stands twice in the ledger", when, e.ID)
		seen[e.ID] = true
		a.replay(when, state, e)
	}
	a.records = len(all.Entries)
	for id := range a.acknowledged {
		check.That(a.t, seen[id], "%s: record %s was acknowledged and is not in the ledger", when, id)
	}
	a.compare(when, state)
	if a.t.Failed() {
		a.t.FailNow()
	}
}

func (a *audit) replay(when string, state map[string]string, e record.Entry) {
	if e.Kind == record.KindRecovered {
		a.recovered++
		if e.Detail["certainty"] != nil {
			a.probable++
		}
		if e.Detail["partial"] != nil && a.afterCut {
			a.partial++
		} else if e.Detail["partial"] != nil {
			a.t.Errorf("%s: nobody else changes files here, and yet a call was settled in part: %s", when, e.Raw)
		}
	}
	for _, c := range e.Changes {
		from := c.Path
		if c.Op == change.Moved {
			from = c.From
		}
		if before := versionOf(c.Before.Hash, c.Before.Mode); !a.same(state[from], before) {
			a.t.Errorf("%s: record %s (%s %s) begins with %q, but %s was %q", when, e.ID, e.Kind, c.Op, before, from, state[from])
		}
		delete(state, from)
		if c.After.Hash != "" {
			state[c.Path] = versionOf(c.After.Hash, c.After.Mode)
		}
	}
}

func versionOf(hash string, mode change.Mode) string {
	if hash == "" {
		return ""
	}
	return hash + " " + string(mode)
}

// same compares contents and modes. What a power cut leaves of modes is not asked.
func (a *audit) same(x, y string) bool {
	if a.afterCut {
		x, _, _ = strings.Cut(x, " ")
		y, _, _ = strings.Cut(y, " ")
	}
	return x == y
}

func (a *audit) compare(when string, state map[string]string) {
	disk := a.files()
	for path, hash := range disk {
		if !a.same(state[path], hash) {
			a.t.Errorf("%s: %s has a content or a mode that no record explains: %s, recorded %q", when, path, hash, state[path])
		}
	}
	for path := range state {
		check.That(a.t, disk[path] != "", "%s: the ledger says that %s is there, and it is not", when, path)
	}
	a.leftovers = 0
	for _, place := range []string{"tmp", "inflight"} {
		entries, _ := os.ReadDir(filepath.Join(a.dir, ".orchestration/state", place))
		for _, e := range entries {
			switch {
			case a.afterCut:
			case strings.HasSuffix(e.Name(), ".kept"), strings.HasSuffix(e.Name(), ".unreadable"):
				a.t.Errorf("%s: %s was set aside although nobody else writes here", when, e.Name())
			case place == "tmp" && !strings.HasSuffix(e.Name(), ".owner"):
				a.leftovers++
				a.t.Errorf("%s: the temporary file %s is left", when, e.Name())
			}
		}
	}
}

// generation is one server of a row on one workspace, and what it lives to do.
type generation struct {
	// clock is what its clock is before the true one.
	clock time.Duration
	// calls are made before it ends.
	calls []args
	// command runs until the server is killed; "": it ends in order.
	command string
	// beside is a call of another server while the command runs, and its clock.
	beside      args
	besideClock time.Duration
	// also is a command of another caller that began before and dies with the server.
	also string
	// then is a second part of the command, after that call.
	then string
}

func writing(path, content string) args {
	return args{"tool": "write_to_file", "path": path, "content": content}
}

// TestGenerations: servers live and die one after the other. After each, the
// ledger begins every change with what was there, whatever their clocks say.
func TestGenerations(t *testing.T) {
	t.Parallel()
	const file = "w0/first.txt"
	for name, row := range map[string][]generation{
		"tools write between a recovered command and a dead one": {
			{clock: 40 * time.Minute, command: "echo by the first > " + file},
			{clock: 30 * time.Minute},
			{clock: 20 * time.Minute, calls: []args{writing(file, "1\n"), writing(file, "2\n")}},
			{command: "echo by the last >> " + file},
		},
		"each server dies before it has changed anything itself": {
			{clock: time.Hour, command: "echo 1 >> " + file},
			{clock: 50 * time.Minute, command: "echo 2 >> " + file + "; mv " + file + " w0/moved.txt"},
			{clock: 40 * time.Minute, command: "echo 3 >> w0/moved.txt; mv w0/moved.txt " + file},
			{command: "echo 4 > " + file},
		},
		"a file is moved away and made again": {
			{clock: 40 * time.Minute, command: "mv " + file + " w0/other.txt; echo again > " + file},
			{clock: 30 * time.Minute, calls: []args{writing(file, "1\n"), writing("w0/other.txt", "2\n")}},
			{command: "rm " + file + "; mv w0/other.txt " + file},
		},
		"a tool writes while the command runs": {
			{command: "echo 1 > w0/other.txt", beside: writing(file, "by a tool\n"), then: "echo 2 >> " + file},
		},
		"two commands that may change a file die together": {
			{also: "echo 1 >> shared.txt", command: "echo 2 >> shared.txt"},
			{also: "rm shared.txt", command: "echo new > shared.txt"},
			{also: "mkdir begin; mv shared.txt begin/moved.txt", command: "echo 3 > shared.txt; echo 4 >> begin/moved.txt"},
		},
		"the clock steps back while the command runs": {
			{clock: 20 * time.Minute, calls: []args{writing(file, "0\n")}},
			{command: "echo 1 > w0/other.txt", beside: writing(file, "by a tool\n"), besideClock: 10 * time.Minute, then: "echo 2 >> " + file},
		},
		"the clock steps back and nobody wrote the file before": {
			{command: "echo 1 > w0/other.txt", beside: writing(file, "by a tool\n"), besideClock: 10 * time.Minute, then: "echo 2 >> " + file},
		},
	} {
		if check.Short() && len(row) > 2 {
			continue // the long stories are for runs without the race detector
		}
		t.Run(name, func(t *testing.T) {
			dir := crashWorkspace(t)
			apart(t, dir)
			a := newAudit(t, dir)
			for i, g := range row {
				a.lives(i, g)
				a.greetedAndEnded()
				a.check(fmt.Sprintf("after server %d", i))
			}
		})
	}
}

func (a *audit) lives(number int, g generation) {
	a.t.Helper()
	c, session := a.server(g.clock)
	for _, arguments := range g.calls {
		a.makes(c, session, arguments)
	}
	if g.command == "" {
		if err := c.end(); err != nil {
			a.t.Fatal(err, c.said())
		}
		return
	}
	if g.also != "" {
		its := a.selects(c, "W-1")
		go c.call("execute_command", args{"session": its, "command": fmt.Sprintf("%s; touch w1/%dalso; exec sleep 60", g.also, number)})
		a.waitFor(fmt.Sprintf("w1/%dalso", number), c)
	}
	done := func(step string) string { return fmt.Sprintf("w0/%d%s", number, step) }
	line := fmt.Sprintf("%s; touch %s; until [ -e %s ]; do sleep 0.01; done; %s; touch %s; exec sleep 60",
		g.command, done("begun"), done("go"), orTrue(g.then), done("done"))
	go c.call("execute_command", args{"session": session, "command": line})
	a.waitFor(done("begun"), c)
	if g.beside != nil {
		other, its := a.server(g.besideClock)
		a.makes(other, its, g.beside)
		if err := other.end(); err != nil {
			a.t.Fatal(err, other.said())
		}
	}
	check.OK(a.t, os.WriteFile(filepath.Join(a.dir, done("go")), nil, 0o644))
	a.waitFor(done("done"), c)
	c.kill()
}

func orTrue(command string) string {
	if command == "" {
		return "true"
	}
	return command
}

// server starts one whose clock is some time before the true one.
func (a *audit) server(behind time.Duration) (c *child, session string) {
	a.t.Helper()
	c = startChild(a.t, a.dir, "env", behindEnv+"="+behind.String())
	if err := c.greet(); err != nil {
		a.t.Fatal(err, c.said())
	}
	return c, a.selects(c, "W-0")
}

func (a *audit) selects(c *child, intent string) (session string) {
	a.t.Helper()
	selected, err := c.call("select_active_intent", args{"intent_id": intent})
	if err != nil || selected.IsError {
		a.t.Fatal(err, selected, c.said())
	}
	return selected.StructuredContent.Session
}

func (a *audit) makes(c *child, session string, arguments args) {
	a.t.Helper()
	path := arguments["path"].(string)
	read, err := c.call("read_file", args{"session": session, "path": path})
	check.Must(a.t, err == nil && !read.IsError, "%v %v", err, read)
	with := args{"session": session, "path": path, "content": arguments["content"]}
	if made, err := c.call(arguments["tool"].(string), with); err != nil || made.IsError {
		a.t.Fatal(err, made)
	}
}

func (a *audit) waitFor(name string, c *child) {
	a.t.Helper()
	for deadline := time.Now().Add(answerTime); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(filepath.Join(a.dir, name)); err == nil {
			return
		}
		if time.Now().After(deadline) {
			a.t.Fatalf("%s does not come: %s", name, c.said())
		}
	}
}
