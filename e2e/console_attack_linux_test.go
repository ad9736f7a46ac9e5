package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/presence"
)

// operatorsConsole is an operator's console, with what a browser of theirs has.
type operatorsConsole struct {
	w           *workspace
	pid         int
	at          string // with the scheme
	code        string // of the link
	cookie, key string
}

// opensConsole runs the program as the operator does, as the user of the workspace.
func (w *workspace) opensConsole(user int) *operatorsConsole {
	w.t.Helper()
	cmd := exec.Command(program, "console", "--workspace", w.dir)
	cmd.Env = w.env()
	if user != os.Getuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(user), Gid: uint32(user)}}
	}
	out := check.Value(cmd.StdoutPipe())(w.t)
	check.OK(w.t, cmd.Start())
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		w.ends(cmd)
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if at, code, found := strings.Cut(lines.Text(), "/#"); found {
			return &operatorsConsole{w: w, pid: cmd.Process.Pid, at: at, code: code}
		}
	}
	w.t.Fatal("the console prints no link")
	return nil
}

// posts sends what the page does, and demands a status.
func (o *operatorsConsole) posts(path, kind, body string, want int) (*http.Response, string) {
	o.w.t.Helper()
	asked := check.Value(http.NewRequest(http.MethodPost, o.at+path, strings.NewReader(body)))(o.w.t)
	asked.Header.Set("Origin", o.at)
	asked.Header.Set("Content-Type", kind)
	asked.Header.Set("X-Orchestra-Key", o.key)
	asked.AddCookie(&http.Cookie{Name: "orchestra-console-" + o.port(), Value: o.cookie})
	got := check.Value(http.DefaultClient.Do(asked))(o.w.t)
	defer got.Body.Close()
	said := check.Value(io.ReadAll(got.Body))(o.w.t)
	check.Must(o.w.t, got.StatusCode == want, "%s: %d %s", path, got.StatusCode, said)
	return got, string(said)
}

func (o *operatorsConsole) port() string { return o.at[strings.LastIndex(o.at, ":")+1:] }

// enters takes the link, as the operator's browser does.
func (o *operatorsConsole) enters() {
	o.w.t.Helper()
	got, said := o.posts("/login", "application/json", `{"code":"`+o.code+`"}`, http.StatusOK)
	var in struct{ Key string }
	check.OK(o.w.t, json.Unmarshal([]byte(said), &in))
	o.cookie, o.key = got.Cookies()[0].Value, in.Key
}

// asks has an agent make a call that the operator is asked about, and gives the request as the page names it.
func (w *workspace) asks(a agent, session string) string {
	w.t.Helper()
	stopped := a.Refused("APPROVAL_REQUIRED", "write_to_file", args{"session": session, "path": "src/.envrc", "content": "x\n"})
	id, _ := stopped.Details()["approval_id"].(string)
	return presence.Name(w.dir) + "/" + id
}

// TestNobodyAnswersItself: an agent's command that looks for the operator's link finds none, and gets nothing with one, nor with
// what the operator's browser has, however it goes about it. Without a sandbox it finds them; that it is refused is then a
// comparison of this program.
func TestNobodyAnswersItself(t *testing.T) {
	check.Needs(t, "python3")
	for _, m := range machines(t) {
		for _, user := range []int{nobody, os.Getuid()} {
			if user != os.Getuid() && os.Getuid() != 0 || !check.Long() && (user == nobody) == (m.level == "full") {
				continue
			}
			m := m
			m.ordinary = user == nobody
			t.Run(fmt.Sprint(m.name, ", user ", user), func(t *testing.T) {
				t.Parallel()
				answersItself(t, m, user)
			})
		}
	}
}

func answersItself(t *testing.T, m machine, user int) {
	w := newWorkspace(t)
	w.write("src/attack.py", string(check.Value(os.ReadFile("testdata/answers_itself.py"))(t)))
	w.writeHome("config/orchestra-mcp/console-1.html", "")
	w.givenTo(user)
	a := w.startedOn(m, unjudged).agent()
	check.OK(t, os.Chmod(filepath.Dir(w.dir), 0o755)) // landlock hides nothing below what its user cannot list
	check.OK(t, os.Chmod(filepath.Dir(w.home), 0o755))
	session := a.Selects("INT-001")
	request := w.asks(a, session)
	o := w.opensConsole(user)
	link := filepath.Join(w.home, "config/orchestra-mcp/console-1.html") // as there is one on a desktop
	check.OK(t, os.WriteFile(link, []byte(o.at+"/#"+o.code), 0o600))
	turned := []byte(o.code)
	slices.Reverse(turned)
	line := fmt.Sprintf("python3 src/attack.py %s %d %s %s", o.port(), o.pid, request, turned)
	runs := func(line, want string) {
		t.Helper()
		said := a.Call("execute_command", args{"session": session, "command": line, "timeout": 50}).Str("output")
		t.Log(said)
		ways := strings.Split(strings.TrimSpace(said), "\n")
		check.Must(t, len(ways) == 13, "it says %q", said)
		for _, way := range ways {
			name, came, _ := strings.Cut(way, ": ")
			held := came == want || name == "gone" && came == "gone" || name == "own files" && strings.HasPrefix(came, "no files") || name == "secrets" && came == "nothing"
			check.That(t, held || name == "secrets" && m.level == "none", "%s", way)
		}
	}
	runs(line, "403 401")
	o.enters() // the link is still good
	runs(line+" "+o.cookie+" "+o.key, "403 403 403")
	waits := w.pending(w.inbox(), 1)
	check.Equal(t, presence.Name(w.dir)+"/"+waits[0].ID, request)
	o.posts("/do/answer", "application/x-www-form-urlencoded", url.Values{"decision": {"approve_once"}, "request": {request}}.Encode(), http.StatusOK)
}
