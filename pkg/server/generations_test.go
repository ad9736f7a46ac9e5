//go:build unix

package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

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
	// also is a command of another caller that began before and dies with the
	// server.
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
