package packages_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server/agenttest"
)

// server is a program that serves on its streams.
type server struct {
	agenttest.Agent
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
	log   strings.Builder
	last  int
}

// patience is how long a server may take before it is given up.
const patience = 2 * time.Minute

// serve starts a command, and initializes it as a client does.
func serve(t *testing.T, cmd *exec.Cmd) *server {
	t.Helper()
	s := &server{cmd: cmd}
	s.T, s.Send = t, s.call
	s.in = check.Value(cmd.StdinPipe())(t)
	s.lines = bufio.NewReader(check.Value(cmd.StdoutPipe())(t))
	cmd.Stderr, cmd.WaitDelay = &s.log, time.Second
	check.OK(t, cmd.Start())
	given := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		given.Stop()
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	var greeting struct {
		Info struct{ Name string } `json:"serverInfo"`
	}
	raw := check.Value(s.request("initialize", agenttest.Args{
		"protocolVersion": "2025-11-25", "capabilities": agenttest.Args{}, "clientInfo": agenttest.Args{"name": "packages", "version": "1"},
	}))(t)
	check.OK(t, json.Unmarshal(raw, &greeting))
	check.Equal(t, greeting.Info.Name, "orchestra-mcp")
	_, err := fmt.Fprintln(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	check.OK(t, err)
	return s
}

func (s *server) request(method string, params any) (json.RawMessage, error) {
	s.last++
	line, err := json.Marshal(agenttest.Args{"jsonrpc": "2.0", "id": s.last, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	if _, err := s.in.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("%w; it said: %s", err, &s.log)
	}
	for {
		line, err := s.lines.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("%w; it said: %s", err, &s.log)
		}
		var answer struct {
			ID     any
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		switch err := json.Unmarshal(line, &answer); {
		case err != nil:
			return nil, fmt.Errorf("this is no protocol: %s", line)
		case answer.ID != float64(s.last):
		case answer.Error != nil:
			return nil, fmt.Errorf("%s: %s", method, answer.Error.Message)
		default:
			return answer.Result, nil
		}
	}
}

func (s *server) call(tool string, arguments agenttest.Args) (json.RawMessage, error) {
	return s.request("tools/call", agenttest.Args{"name": tool, "arguments": arguments})
}

// works has the server change a file in a workspace under its intent and refuse one out of scope, and ends it by the end of its
// input. The change is in the ledger.
func (s *server) works(dir string) {
	s.T.Helper()
	session := s.Selects("INT-001")
	s.OK("write_to_file", agenttest.Args{"session": session, "path": "src/made.txt", "content": "made\n"})
	s.Refused("SCOPE_VIOLATION", "write_to_file", agenttest.Args{"session": session, "path": "made.txt", "content": "made\n"})
	check.Equal(s.T, string(check.Value(os.ReadFile(filepath.Join(dir, "src", "made.txt")))(s.T)), "made\n")
	check.OK(s.T, s.in.Close())
	s.ends()
	contains(s.T, does(s.T, home(s.T, exec.Command(program, "log", "--json", "--workspace", dir))), `"path":"src/made.txt"`)
	does(s.T, home(s.T, exec.Command(program, "verify", "--workspace", dir)))
}

// ends demands that it ends with code 0.
func (s *server) ends() {
	s.T.Helper()
	_, err := io.Copy(io.Discard, s.lines)
	check.NoError(s.T, err)
	err = s.cmd.Wait()
	check.Must(s.T, err == nil, "%v ended with %v: %s", s.cmd.Args, err, &s.log)
}
