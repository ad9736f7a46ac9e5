package notify_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/external"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/external/notify"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// log is what was logged.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
	line chan struct{} // gets one for each line
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.line <- struct{}{}
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func notifier(t *testing.T, notices ...notify.Notice) (*notify.Notifier, string, *log) {
	t.Helper()
	dir := t.TempDir()
	w := check.Value(workspace.Open(dir))(t)
	t.Cleanup(func() { w.Close() })
	l := &log{line: make(chan struct{}, 1000)}
	n := notify.New(notify.Options{
		Programs: external.Options{Workspace: w, Runner: check.Value(command.NewRunner(command.Options{}))(t)}, Notices: notices, Logger: zerolog.New(l),
	})
	t.Cleanup(n.Close)
	return n, dir, l
}

// hostile is a request whose texts would run, forge lines or tell a secret where they were not held as data.
func hostile() approval.Request {
	return approval.Request{
		ID: "apr_x", Tool: "execute_command", IntentID: "INT-001", CreatedAt: time.Unix(0, 0).UTC(), ExpiresAt: time.Unix(60, 0).UTC(),
		Effects: []approval.Effect{{Kind: "command", Line: "$(touch pwned) `touch pwned` \x1b[2J\nDB_PASSWORD=hunter2 ls", Cwd: "."}},
		Diffs:   []approval.FileDiff{{Path: "src/a", Hunks: "@@ -1 +1 @@\n-a\n+\u202eb\n", Size: 20, Lines: 3}},
	}
}

func TestRequestIsData(t *testing.T) {
	t.Parallel()
	got := make(chan []byte, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- body
	}))
	defer hook.Close()
	n, dir, l := notifier(t, notify.Notice{URL: hook.URL}, notify.Notice{
		Command: `cat > in; printf '%s' "$APPROVAL_ID $APPROVAL_TOOL $APPROVAL_INTENT $APPROVAL_TITLE" > title; exit 3`,
	})
	n.Tell(hostile())
	posted := <-got
	<-l.line // that it failed
	check.Equal(t, string(check.Value(os.ReadFile(filepath.Join(dir, "in")))(t)), string(posted)+"\n")
	var d notify.Document
	check.OK(t, json.Unmarshal(posted, &d))
	check.That(t, d.ID == "apr_x" && d.Intent == "INT-001" && d.Workspace != "" && d.ExpiresAt.Unix() == 60 && strings.Contains(d.AnswerWith, "approvals approve apr_x --workspace '"), "%+v", d)
	check.That(t, strings.Contains(d.Diff, `+\u202eb`) && len(d.Rows) > 0, "%+v", d)
	check.Equal(t, string(check.Value(os.ReadFile(filepath.Join(dir, "title")))(t)), "apr_x execute_command INT-001 "+d.Title)
	check.That(t, strings.Contains(d.Title, "$(touch pwned)") && !strings.Contains(string(posted), "hunter2"), "%s", posted)
	_, err := os.Stat(filepath.Join(dir, "pwned"))
	check.That(t, os.IsNotExist(err), "a text of the request was run")
}

// What fails is logged, without the secret of an address; no redirect is followed.
func TestFailuresAreLogged(t *testing.T) {
	t.Parallel()
	followed := make(chan struct{}, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			followed <- struct{}{}
		}
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	defer hook.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	n, _, l := notifier(t, notify.Notice{URL: hook.URL + "/s3cret"}, notify.Notice{URL: gone.URL + "/s3cret?token=s3cret"}, notify.Notice{Command: "exit 3"})
	n.Tell(hostile())
	for range 3 {
		<-l.line
	}
	text := l.String()
	for _, want := range []string{"it answered 307", "refused", "exit code 3", hook.URL, "apr_x"} {
		check.That(t, strings.Contains(text, want), "no %q in %s", want, text)
	}
	check.That(t, !strings.Contains(text, "s3cret") && len(followed) == 0, "%s", text)
}

// An agent that asks without end starts no more at a time than a few, and what hangs ends with the server.
func TestNoticesAreBounded(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now, most := 0, 0
	full := make(chan struct{})
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // that the end of the client is noticed
		mu.Lock()
		now++
		if most = max(most, now); now == 4 {
			close(full)
		}
		mu.Unlock()
		<-r.Context().Done()
	}))
	defer hook.Close()
	n, _, l := notifier(t, notify.Notice{URL: hook.URL})
	for range 150 {
		n.Tell(hostile())
	}
	<-full
	n.Close()
	n.Tell(hostile())
	check.That(t, most == 4 && strings.Count(l.String(), "on their way already") == 50, "%d at a time; logged %d", most, strings.Count(l.String(), "\n"))
}
