package server_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/advicetest"
	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// clock is a server's, moved by the test: the server also asks it by itself.
type clock struct{ at atomic.Int64 }

func clockFrom(at time.Time) *clock {
	c := new(clock)
	c.at.Store(at.UnixNano())
	return c
}

func (c *clock) now() time.Time { return time.Unix(0, c.at.Load()).UTC() }

func (c *clock) forward(d time.Duration) { c.at.Add(int64(d)) }

func (c *clock) set(o *server.Options) { o.Clock = c.now }

// answerTime is longer than any answer takes, on a busy machine too.
const answerTime = 2 * time.Minute

const intentsYAML = agenttest.Intents

// bench is a workspace with a server and a client on it.
type bench struct {
	agenttest.Agent
	t   *testing.T
	dir string
	// userDir is the user's directory, "" for that of all tests.
	userDir string
	client  *mcp.ClientSession
	server  *server.Server
	// promises holds every answer to what its tool promises; it is made with the first.
	promises *advicetest.Answers
	hangUp   func()
	closed   bool
	// gapsMeant: the test has calls go unrecorded, which is a problem that verify finds.
	gapsMeant bool
}

// newWorkspace makes a git workspace with the intents of intentsYAML.
func newWorkspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	agenttest.Workspace(t, dir)
	return dir
}

func (b *bench) exists(name string) bool {
	_, err := os.Stat(filepath.Join(b.dir, name))
	return err == nil
}

// serversOwn reports what a server writes for itself, which is no change of the workspace at whose top it stands.
func serversOwn(name string) bool {
	return slices.Contains([]string{
		".orchestration/state", ".orchestration/cache", ".orchestration/agent_trace.jsonl", ".orchestration/intent_map.md", ".git/orchestra",
	}, filepath.ToSlash(name))
}

// skip leaves out an entry of a walk and what is below it.
func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// inTree has git keep the ledger in the tree.
func inTree(o *server.Options) { o.Settings.Ledger.Git = settings.Tree }

// eventually waits for something that comes behind an answer, or from another process.
func (b *bench) eventually(what string, is func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(answerTime); !is(); time.Sleep(5 * time.Millisecond) {
		check.Must(b.t, !time.Now().After(deadline), "never: %s", what)
	}
}

func (b *bench) read(name string) string {
	b.t.Helper()
	content := check.Value(os.ReadFile(filepath.Join(b.dir, name)))(b.t)
	return string(content)
}

// unsandboxed makes the machine one that can hold no command.
func unsandboxed(o *server.Options) {
	ownUser(o)
	no := errors.New("not on this machine")
	o.Ability = func() sandbox.Ability { return sandbox.Ability{Level: sandbox.None, NoFull: no, NoLandlock: no} }
}

// ownUser gives a test a user's directory of its own: what other tests have there would be laid to a command that nothing holds.
func ownUser(o *server.Options) {
	o.UserDir = cmp.Or(o.UserDir, filepath.Join(filepath.Dir(o.Dir), "user"))
}

// direct has commands work on the workspace itself, for what looks at it while they run.
func direct(o *server.Options) { o.Settings.Commands.Stage = settings.Never }

// start serves the workspace to a client of the official Go SDK over stdio.
func start(t *testing.T, dir string, changes ...func(*server.Options)) *bench {
	t.Helper()
	options := server.Options{Dir: dir, Settings: settings.Defaults(), Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)}
	// Waiting for the disk is what these tests would spend their time on.
	options.Settings.Durability = settings.OS
	// Nor waiting for an operator who never answers.
	options.Settings.Approvals.Wait = 0
	for _, change := range changes {
		change(&options)
	}
	options.TakeTime()
	srv := check.Value(server.New(options))(t)

	return &bench{t: t, dir: dir, userDir: options.UserDir, server: srv}
}

// The two eras of the protocol.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// connect starts serving a client of the initialize era; tools and hooks are added before.
func (b *bench) connect() *bench { return b.connectAs(legacy) }

func (b *bench) connectAs(version string) *bench {
	b.t.Helper()
	b.t.Cleanup(b.close)
	return b.dial(version, nil)
}

// close ends the server, once, and holds that the ledger is intact.
func (b *bench) close() {
	if b.closed {
		return
	}
	b.closed = true
	check.NoError(b.t, b.server.Close())
	b.verify()
}

// verify holds that the ledger is intact.
func (b *bench) verify() {
	b.t.Helper()
	agenttest.Verify(b.t, b.dir, b.gapsMeant)
}

func (b *bench) problems() []ledger.Problem { return agenttest.Problems(b.t, b.dir) }

// another is a second connection to the same server.
func (b *bench) another(version string) *bench {
	b.t.Helper()
	return (&bench{t: b.t, dir: b.dir, userDir: b.userDir, server: b.server}).dial(version, nil)
}

// dial connects a client, which hangs up at the end of the test or with hangUp.
func (b *bench) dial(version string, options *mcp.ClientOptions) *bench {
	b.t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- b.server.ServeStdio(context.Background(), toServer, fromServer) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options)
	session := check.Value(client.Connect(b.t.Context(), &mcp.IOTransport{Reader: toClient, Writer: fromClient}, &mcp.ClientSessionOptions{ProtocolVersion: version}))(b.t)
	got := session.InitializeResult().ProtocolVersion
	check.Must(b.t, got == version, "the client speaks %s, not %s", got, version)
	b.client, b.Agent = session, agenttest.Agent{T: b.t, Send: b.send}
	b.hangUp = sync.OnceFunc(func() {
		session.Close()
		fromClient.Close()
		select {
		case err := <-done:
			check.That(b.t, err == nil || errors.Is(err, io.ErrClosedPipe), "serving ended with %v", err) // who hangs up reads no more
		case <-time.After(answerTime):
			b.t.Error("the server did not end with its input")
		}
	})
	b.t.Cleanup(b.hangUp)
	return b
}

func TestMain(m *testing.M) {
	serveIfChild()
	check.Waiting()
	check.OneByOne(`PowerCut FailingDisk EveryRefusalIsRecorded RefusalsAreBounded AgentsUseGit$ Generations InstallInAFresh Renamings
		WhatTheSandboxDenied ARuleWithoutAnAnswer LessonsAreRationed TheUsersOwnDirectory BadPaths Hostile Undo ViolationsAre
		CommandOutOfScope FileToolsMake TheRules Context FilesOf`)
	os.Exit(run(m))
}

// run keeps the tests away from the user's own files. One home serves all, so that they can run at the same time.
func run(m *testing.M) int {
	home, err := os.MkdirTemp("", "orchestra-home-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(home)
	for name, value := range homeIn(home) {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	// A command of one test would be charged with what the first approval of another makes there.
	if err := os.MkdirAll(filepath.Join(home, "config/orchestra-mcp/spent"), 0o700); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// git would look for what it can pack behind each commit and merge, in a process of its own.
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[maintenance]\n\tauto = false\n"), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// ownHome is for a test that fills its home, and keeps it from running beside others.
func ownHome(t *testing.T, dir string) {
	t.Helper()
	for name, value := range homeIn(dir) {
		t.Setenv(name, value)
	}
}

func homeIn(dir string) map[string]string {
	return map[string]string{
		"HOME": dir, "XDG_CONFIG_HOME": filepath.Join(dir, "config"), "XDG_CACHE_HOME": filepath.Join(dir, "cache"), "GIT_CONFIG_NOSYSTEM": "1",
	}
}

// benchEngine is a server without flushes on a workspace of its own, and a function that makes calls of one connection.
func benchEngine(b *testing.B, files map[string]string, changes ...func(*settings.Settings)) func(b *testing.B, tool string, arguments args) {
	b.Helper()
	dir := b.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		check.OK(b, os.MkdirAll(filepath.Dir(path), 0o755))
		check.OK(b, os.WriteFile(path, []byte(text), 0o644))
	}
	set := settings.Defaults()
	set.Durability = settings.OS
	for _, change := range changes {
		change(&set)
	}
	srv := check.Value(server.New(server.Options{Dir: dir, Settings: set, Logger: zerolog.Nop()}))(b)
	b.Cleanup(func() { srv.Close() })
	check.OK(b, srv.StartTelemetry())
	return func(b *testing.B, tool string, arguments args) {
		raw := check.Value(json.Marshal(arguments))(b)
		result := srv.Do(b.Context(), hooks.Request{Tool: tool, Arguments: hooks.ReadArguments(raw), Caller: session.Caller{Connection: "bench"}})
		check.Must(b, !result.IsError, "%s: %s", tool, result.Text)
	}
}

// goContent is 4 KiB of Go.
func goContent(i int) string {
	function := "func f%d(list []int) (total int) {\n\tfor _, n := range list {\n\t\tif n > 0 {\n\t\t\ttotal += n\n\t\t}\n\t}\n\treturn total\n}\n\n"
	var text strings.Builder
	fmt.Fprintf(&text, "package a\n\n// Version %08d.\n", i)
	for n := 0; text.Len() < 4000; n++ {
		fmt.Fprintf(&text, function, n)
	}
	return text.String()
}

// BenchmarkGate is the way of a call through the engine, without a transport and without flushes: what is allocated,
// and where the time goes that is not the disk's.
func BenchmarkGate(b *testing.B) {
	content := strings.Repeat("a line of sixty-four bytes, with its newline, for the benchmark\n", 64)
	do := benchEngine(b, map[string]string{
		".orchestration/active_intents.yaml": intentsYAML, "src/a.txt": content, "src/a.go": goContent(-1), "src/b.txt": "00000000\n" + content,
	})
	do(b, "select_active_intent", args{"intent_id": "INT-001"})
	do(b, "read_file", args{"path": "src/a.txt"})
	do(b, "read_file", args{"path": "src/b.txt"})
	do(b, "read_file", args{"path": "src/a.go"})
	edits := 0
	for _, c := range []struct {
		name, tool string
		arguments  func(i int) args
	}{
		{"read", "read_file", func(int) args { return args{"path": "src/a.txt"} }},
		{"unchanged", "write_to_file", func(int) args { return args{"path": "src/a.txt", "content": content} }},
		{"write", "write_to_file", func(i int) args { return args{"path": "src/a.txt", "content": fmt.Sprintf("%08d\n%s", i, content)} }},
		{"edit", "edit_file", func(int) args {
			edits++
			return args{"path": "src/b.txt", "old_string": fmt.Sprintf("%08d\n", edits-1), "new_string": fmt.Sprintf("%08d\n", edits)}
		}},
		// A class is computed for Go: what that adds to a write of the same size.
		{"write Go", "write_to_file", func(i int) args { return args{"path": "src/a.go", "content": goContent(i)} }},
		{"select", "select_active_intent", func(int) args { return args{"intent_id": "INT-001"} }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				do(b, c.tool, c.arguments(i))
			}
		})
	}
}
