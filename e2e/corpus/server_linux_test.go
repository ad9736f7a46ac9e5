package corpus_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// answerTime is longer than any answer takes, on a busy or emulated machine too.
const answerTime = 10 * time.Minute

// served is a server in a process of its own, with a client.
type served struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan []byte // closed when its output ends
	log   *strings.Builder
	next  int
}

type args map[string]any

// answer is the result of a tool. Gone: the server ended instead.
type answer struct {
	Gone    bool           `json:"-"`
	IsError bool           `json:"isError"`
	Fields  map[string]any `json:"structuredContent"`
}

func (a answer) text(key string) string {
	s, _ := a.Fields[key].(string)
	return s
}

// serves starts a server in the world, under the world's user.
func (w *world) serves(program string) *served {
	w.t.Helper()
	s := &served{t: w.t, cmd: exec.Command(program), lines: make(chan []byte, 1000), log: &strings.Builder{}}
	s.cmd.Dir, s.cmd.Stderr = w.top, s.log
	s.cmd.Env = []string{
		serveEnv + "=" + w.ws, levelEnv + "=" + string(w.level), "PATH=" + os.Getenv("PATH"), "HOME=" + w.home,
		"SSH_AUTH_SOCK=" + filepath.Join(w.home, "run/agent.sock"), "GIT_CONFIG_NOSYSTEM=1", "LANG=C.UTF-8",
	}
	// A group of its own: an attack may send signals to it.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	switch {
	case len(w.withheld) > 0:
		s.cmd.Env = append(s.cmd.Env, confineEnv+"="+strings.Join(w.withheld, ";"))
		if w.user {
			s.cmd.Env = append(s.cmd.Env, userEnv+"="+strconv.Itoa(nobody))
		}
	case w.user:
		s.cmd.SysProcAttr.Credential = credential()
	}
	if w.processes > 0 {
		s.cmd.Env = append(s.cmd.Env, processesEnv+"="+strconv.Itoa(w.processes))
	}
	if w.requires {
		s.cmd.Env = append(s.cmd.Env, requireEnv+"=1")
	}
	if w.client {
		s.cmd.Env = append(s.cmd.Env, hooksEnv+"=1", "XDG_RUNTIME_DIR="+w.runtime())
	}
	if w.staged {
		s.cmd.Env = append(s.cmd.Env, stagedEnv+"=1")
	}
	if w.reverts {
		s.cmd.Env = append(s.cmd.Env, revertEnv+"=1")
	}
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	out := check.Value(s.cmd.StdoutPipe())(w.t)
	check.OK(w.t, s.cmd.Start())
	go s.listen(out)
	s.request("initialize", args{"protocolVersion": "2025-11-25", "capabilities": args{}, "clientInfo": args{"name": "corpus", "version": "1"}})
	s.send(args{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return s
}

func credential() *syscall.Credential {
	if os.Getuid() != 0 {
		return nil
	}
	return &syscall.Credential{Uid: nobody, Gid: nobody}
}

func (s *served) listen(out io.Reader) {
	defer close(s.lines)
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		s.lines <- line
	}
}

func (s *served) send(message any) {
	s.t.Helper()
	line := check.Value(json.Marshal(message))(s.t)
	_, err := s.in.Write(append(line, '\n'))
	check.Must(s.t, err == nil, "%v\n%s", err, s.log)
}

// request is the result of a request; nil if the server ended instead.
func (s *served) request(method string, params any) json.RawMessage {
	s.t.Helper()
	s.next++
	s.send(args{"jsonrpc": "2.0", "id": s.next, "method": method, "params": params})
	late := time.After(answerTime)
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				return nil
			}
			var m struct {
				ID     any             `json:"id"`
				Result json.RawMessage `json:"result"`
				Error  json.RawMessage `json:"error"`
			}
			err := json.Unmarshal(line, &m)
			check.Must(s.t, err == nil, "no message: %s", line)
			if m.ID != float64(s.next) {
				continue
			}
			check.Must(s.t, m.Error == nil, "%s %v: %s", method, params, m.Error)
			return m.Result
		case <-late:
			s.t.Fatalf("no answer to %v\n%s", params, s.log)
		}
	}
}

func (s *served) call(tool string, arguments args) answer {
	s.t.Helper()
	raw := s.request("tools/call", args{"name": tool, "arguments": arguments})
	if raw == nil {
		return answer{Gone: true}
	}
	var a answer
	err := json.Unmarshal(raw, &a)
	check.Must(s.t, err == nil && a.Fields != nil, "%s: no result of a tool: %v %s", tool, err, raw)
	return a
}

// end closes the server's input, or finds out how it was ended.
func (s *served) end() error {
	s.in.Close()
	late := time.AfterFunc(answerTime, func() { _ = s.cmd.Process.Kill() })
	defer late.Stop()
	for range s.lines {
	}
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, s.log)
	}
	return nil
}

// levels are those of this machine that are tried, the highest last.
func levels(t *testing.T) []sandbox.Level {
	t.Helper()
	a := sandbox.Probe()
	found := []sandbox.Level{sandbox.None}
	for _, l := range []struct {
		level   sandbox.Level
		missing error
	}{{sandbox.Landlock, a.NoLandlock}, {sandbox.Full, a.NoFull}} {
		switch {
		case l.missing == nil:
			found = append(found, l.level)
		case os.Getenv("CI") != "":
			t.Fatalf("CI must have the level %s: %v", l.level, l.missing)
		default:
			t.Logf("the level %s is not to be had here: %v", l.level, l.missing)
		}
	}
	return found
}
