package e2e_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// chromium is the browser of these tests, and what it is started with everywhere.
const chromium = "chromium"

func chromiumArguments(profile string) []string {
	return []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--password-store=basic",
		"--disable-background-networking", "--disable-component-update", "--user-data-dir=" + profile,
	}
}

// browser is a Chromium that is spoken to by its protocol for tools, on pipes: no port of it is open.
type browser struct {
	t    *testing.T
	cmd  *exec.Cmd
	to   *os.File
	from *bufio.Reader

	mu     sync.Mutex
	next   int
	closed bool
}

// tab is a page of it.
type tab struct {
	*browser
	session string
}

// opensBrowser starts one with a profile, as the user that starts a person's programs.
func opensBrowser(t *testing.T, w *workspace, profile string) *browser {
	t.Helper()
	check.Needs(t, chromium)
	theirIn, to, err := os.Pipe()
	check.OK(t, err)
	from, theirOut, err := os.Pipe()
	check.OK(t, err)
	b := &browser{t: t, cmd: exec.Command(chromium, append(chromiumArguments(profile), "--remote-debugging-pipe")...), to: to, from: bufio.NewReaderSize(from, 1<<20)}
	b.cmd.Env, b.cmd.ExtraFiles = w.env(), []*os.File{theirIn, theirOut}
	check.OK(t, b.cmd.Start())
	check.OK(t, theirIn.Close())
	check.OK(t, theirOut.Close())
	t.Cleanup(b.close)
	return b
}

// close has it end as it does when a person closes it.
func (b *browser) close() {
	if b.closed {
		return
	}
	b.closed = true
	stuck := time.AfterFunc(patience, func() { _ = b.cmd.Process.Kill() })
	defer stuck.Stop()
	_, _ = io.WriteString(b.to, `{"id":0,"method":"Browser.close"}`+"\x00")
	_, _ = io.Copy(io.Discard, b.from)
	_ = b.cmd.Wait()
}

// calls a method of the protocol.
func (b *browser) calls(session, method string, params, result any) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next++
	asked := check.Value(json.Marshal(map[string]any{"id": b.next, "method": method, "params": params, "sessionId": session}))(b.t)
	if session == "" {
		asked = check.Value(json.Marshal(map[string]any{"id": b.next, "method": method, "params": params}))(b.t)
	}
	check.Value(b.to.Write(append(asked, 0)))(b.t)
	for {
		line, err := b.from.ReadBytes(0)
		check.Must(b.t, err == nil, "the browser is gone: %v", err)
		var m struct {
			ID     int
			Result json.RawMessage
			Error  json.RawMessage
		}
		check.OK(b.t, json.Unmarshal(line[:len(line)-1], &m))
		if m.ID != b.next {
			continue // what it tells by itself
		}
		check.Must(b.t, m.Error == nil, "%s: %s", method, m.Error)
		if result != nil {
			check.OK(b.t, json.Unmarshal(m.Result, result))
		}
		return
	}
}

// opens a tab, in which a script runs before each page's own.
func (b *browser) opens(before string) *tab {
	b.t.Helper()
	var made struct{ TargetID, SessionID string }
	b.calls("", "Target.createTarget", args{"url": "about:blank"}, &made)
	b.calls("", "Target.attachToTarget", args{"targetId": made.TargetID, "flatten": true}, &made)
	t := &tab{b, made.SessionID}
	t.calls(t.session, "Page.enable", args{}, nil)
	t.calls(t.session, "Page.addScriptToEvaluateOnNewDocument", args{"source": before}, nil)
	return t
}

func (t *tab) goes(address string) {
	t.t.Helper()
	t.calls(t.session, "Page.navigate", args{"url": address}, nil)
}

// says is the value of an expression in the page, as a text. It may be a promise.
func (t *tab) says(expression string) string {
	t.t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	t.calls(t.session, "Runtime.evaluate", args{"expression": "(async () => String(await (" + expression + ")))()", "awaitPromise": true, "userGesture": true}, &got)
	text, _ := got.Result.Value.(string)
	if got.ExceptionDetails != nil {
		return "exception: " + string(got.ExceptionDetails)
	}
	return text
}

// shows waits until the page has a text.
func (t *tab) shows(text string) {
	t.t.Helper()
	for late := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		got := t.says("document.body?.innerText")
		if strings.Contains(got, text) {
			return
		}
		check.Must(t.t, time.Now().Before(late), "the page never shows %q: %s", text, got)
	}
}

// awaits waits until an expression is true.
func (t *tab) awaits(expression string) {
	t.t.Helper()
	for late := time.Now().Add(patience); t.says(expression) != "true"; time.Sleep(20 * time.Millisecond) {
		check.Must(t.t, time.Now().Before(late), "never: %s: %s", expression, t.says("document.body?.innerText"))
	}
}

// frames is the tree of what is shown in the page, as the browser tells it.
func (t *tab) frames() string {
	t.t.Helper()
	var tree json.RawMessage
	t.calls(t.session, "Page.getFrameTree", args{}, &tree)
	return string(tree)
}
