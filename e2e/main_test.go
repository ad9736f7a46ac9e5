// Package e2e_test holds the program, as it is built and run by its users, to clients that we did not write: the
// official TypeScript clients, version 1 and 2, the MCP inspector and the official Go client, over every transport and
// in both eras of the protocol. Beside them stand the tests that need a real process: what it leaves on its streams,
// how it ends, what it survives.
//
// The Node clients are in clients/, pinned by a lock file; `npm ci` there
// fetches them. Without them their tests are skipped, except where CI is set.
package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// program is the orchestra-mcp under test.
var program string

func TestMain(m *testing.M) {
	if os.Getenv(serveExample) != "" {
		os.Exit(serveExampleStdio())
	}
	check.Waiting()
	check.OneByOne("AnAgentsBrowser AnotherPortsPage AnOrdinaryDay AnswersStaySmall ApprovalsUnderAttack AppsInABrowser BuildsThatWriteCaches ClientsWithoutForms " +
		"DaemonsEnd Demo Descriptors EveryAskable ForkBomb Greeting HandleSurvives HappyPath Hostile Inspector KilledInAMerge MergeOvertaken NewEntries NothingWaits OAuth " +
		"OutputInBoundedMemory RealWorkOnLayers RenameModule ServerKilledAfterTheAnswer TheBrowserKeeps TrustedGit Undo")
	os.Exit(run(m))
}

// slowness is how much more time and memory the program takes with the race detector, which it has where the tests have it.
func slowness() int {
	if check.Racing {
		return 8
	}
	return 1
}

func run(m *testing.M) int {
	return check.Program(func(path string) int {
		program = path
		code := m.Run()
		if err := endCommon(); err != nil {
			fmt.Fprintln(os.Stderr, "the Node of the clients:", err)
			return 1
		}
		return code
	})
}

// endpoint is a program that serves HTTP.
type endpoint struct{ url, token string }

// serveHTTP starts the program and takes from its standard error where it listens and for which token.
func (w *workspace) serveHTTP(transport string, env ...string) endpoint {
	w.t.Helper()
	e, _ := w.serveTo(transport, env...)
	check.Must(w.t, e.token != "", "the server did not say which token it wants")
	return e
}

// serveTo is serveHTTP for one that may have no token of its own; log is what it has said since, and has an end with the test.
func (w *workspace) serveTo(transport string, env ...string) (e endpoint, log func() string) {
	w.t.Helper()
	cmd := exec.Command(program, "serve", "--workspace", w.dir, "--transport", transport, "--listen", "127.0.0.1:0")
	cmd.Env = w.env(env...)
	said := &announcement{ready: make(chan endpoint, 1)}
	cmd.Stderr = said
	check.OK(w.t, cmd.Start())
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		w.ends(cmd)
	})
	select {
	case e := <-said.ready:
		return e, said.all
	case <-time.After(patience):
		w.t.Fatalf("the server did not say where it listens: %s", said.all())
	}
	return endpoint{}, nil
}

// announcement is a server's standard error.
type announcement struct {
	ready chan endpoint
	mu    sync.Mutex
	text  bytes.Buffer
}

func (a *announcement) all() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.text.String()
}

func (a *announcement) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.text.Write(p)
	var e endpoint
	for line := range strings.Lines(a.text.String()) {
		if token, ok := strings.CutPrefix(line, "bearer token: "); ok {
			e.token = strings.TrimSpace(token)
		}
		if url, ok := strings.CutPrefix(line, "listening on "); ok && strings.HasSuffix(url, "\n") {
			e.url = strings.TrimSpace(url)
		}
	}
	if e.url != "" {
		select {
		case a.ready <- e:
		default:
		}
	}
	return len(p), nil
}

// ends demands that a process which was told to ends with code 0.
func (w *workspace) ends(cmd *exec.Cmd) {
	w.t.Helper()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		check.That(w.t, err == nil, "%v ended with %v", cmd.Args, err)
	case <-time.After(patience):
		w.t.Errorf("%v does not end", cmd.Args)
		_ = cmd.Process.Kill()
		<-done
	}
}
