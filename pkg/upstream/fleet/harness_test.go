package fleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/fleet"
)

func TestMain(m *testing.M) {
	serveIfProgram()
	ownIfOwner()
	check.Waiting()
	os.Exit(m.Run())
}

// yard is a workspace with a fleet.
type yard struct {
	testing.TB
	*fleet.Fleet
	options         fleet.Options
	workspace, home string

	mu      sync.Mutex
	changed []string
	log     bytes.Buffer
}

// newYard prepares one; open opens it.
func newYard(t testing.TB, definitions ...upstream.Definition) *yard {
	t.Helper()
	y := &yard{TB: t, workspace: directory(t), home: directory(t)}
	dir, _ := programDir()
	environ := []string{"HOME=" + y.home, "PATH=" + dir + ":/usr/bin:/bin", "LC_ALL=C.UTF-8", "GITHUB_TOKEN=ours", "ORCHESTRA_X=1", "NODE_OPTIONS=--inspect"}
	y.options = fleet.Options{
		Definitions: definitions, Workspace: y.workspace, UserDir: filepath.Join(y.home, ".config", "orchestra-mcp"), Environ: environ, Version: "test",
		Profiles: profile.New(y.workspace, environ), Sandbox: sandbox.Want{Off: true}, Logger: zerolog.New(y).Level(zerolog.InfoLevel), Changed: y.change,
	}
	runner, err := command.NewRunner(command.Options{})
	if err == nil {
		y.options.Runner = runner
	}
	return y
}

func directory(t testing.TB) string {
	return check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
}

// held has the programs held by the best that there is here, and leaves the test out where that is nothing.
func (y *yard) held() *yard {
	y.options.Sandbox = sandbox.Want{}
	if level, _ := y.options.Sandbox.Level(); level == sandbox.None {
		y.Skip("nothing holds programs here")
	}
	return y
}

func (y *yard) open() *yard {
	y.Helper()
	if y.Fleet != nil {
		check.OK(y, y.Close())
	} else {
		y.Cleanup(func() { check.NoError(y, y.Close()) })
	}
	y.Fleet = fleet.Open(y.options)
	return y
}

// Write takes the log.
func (y *yard) Write(line []byte) (int, error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.log.Write(line)
}

func (y *yard) logged() string {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.log.String()
}

func (y *yard) change(list string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.changed = append(y.changed, list)
}

// until waits for what comes without being asked for.
func (y *yard) until(what string, is func() bool) {
	y.Helper()
	for range 2000 {
		if is() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	y.Fatalf("%s did not come; the log: %s", what, y.logged())
}

// secrets writes a file of secrets.
func (y *yard) secrets(d upstream.Definition, text string) string {
	y.Helper()
	file := fleet.FilesOf(y.options.UserDir, y.workspace, d).Secrets
	check.OK(y, os.MkdirAll(filepath.Dir(file), 0o700))
	check.OK(y, os.WriteFile(file, []byte(text), 0o600))
	return file
}

type definition = upstream.Definition

// trust is what the operator's command does: in its own process it has a book of its own.
func trust(t testing.TB, y *yard) {
	t.Helper()
	d := y.options.Definitions[0]
	book := catalogue.Open(fleet.FilesOf(y.options.UserDir, y.workspace, d).Pins)
	var waiting []catalogue.Entry
	for _, e := range check.Value(book.Entries(d))(t) {
		if e.State.Quarantined() {
			waiting = append(waiting, e)
		}
	}
	check.Value(book.Trust(d, waiting...))(t)
}

// is defines a server whose program goes a way.
func is(name, way string) upstream.Definition {
	_, binary := programDir()
	return upstream.Definition{
		Name: name, Prefix: name + "_", Command: []string{binary, programArgument, way}, Timeout: upstream.DefaultTimeout, Findings: upstream.Warn,
	}
}

// call calls a tool by its name with us.
func (y *yard) call(name, arguments string) (json.RawMessage, error) {
	y.Helper()
	t, ok := y.tool(name)
	check.Must(y, ok, "there is no tool %s among %v; the log: %s", name, names(y.Tools(context.Background())), y.logged())
	return y.Call(context.Background(), t, json.RawMessage(arguments), mcpclient.Handlers{})
}

// tool is a tool after the first use.
func (y *yard) tool(name string) (catalogue.Tool, bool) {
	y.Tools(context.Background())
	return y.Tool(name)
}

// said is the text of a result.
func (y *yard) said(name, arguments string) string {
	y.Helper()
	return textOf(y, check.Value(y.call(name, arguments))(y))
}

func textOf(t testing.TB, result json.RawMessage) string {
	t.Helper()
	var r struct{ Content []struct{ Text string } }
	check.OK(t, json.Unmarshal(result, &r))
	check.Must(t, len(r.Content) == 1, "the result is %s", result)
	return r.Content[0].Text
}

func names(tools []catalogue.Tool) string {
	var all []string
	for _, t := range tools {
		all = append(all, t.Name)
	}
	return strings.Join(all, " ")
}

// state is that of one server.
func (y *yard) state(name string) fleet.State {
	y.Helper()
	states := y.States()
	i := slices.IndexFunc(states, func(s fleet.State) bool { return s.Name == name })
	check.Must(y, i >= 0, "%s is not among %v", name, states)
	return states[i]
}

func quote(t string) string {
	quoted, _ := json.Marshal(t)
	return string(quoted)
}

// nowhere checks that a text is in no log and no state.
func (y *yard) nowhere(secret string) {
	y.Helper()
	all := y.logged() + string(check.Value(json.Marshal(y.States()))(y))
	check.That(y, !strings.Contains(all, secret), "%q stands in %s", secret, all)
}

// ask has the program of a server do something, whatever is trusted.
func (y *yard) ask(server, tool, arguments string) (string, error) {
	y.Helper()
	result, err := y.Request(context.Background(), server, "tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
	if err != nil {
		return "", err
	}
	return textOf(y, result), nil
}

func (y *yard) told(server, tool, arguments string) string {
	y.Helper()
	return check.Value(y.ask(server, tool, arguments))(y)
}
