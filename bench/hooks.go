package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// measureHooks is about the hook of a client, as the whole process that the client starts and waits for: beside a server that
// runs, and as the first, which starts one. What it tells is what a client tells before it writes a file or runs a command.
func measureHooks(s *suite) {
	files, n := pick(s.short, 1_000, 10_000), pick(s.short, 10, 60)
	dir := s.workspace(1)
	for i := range files {
		writeFile(filepath.Join(dir, "src", fmt.Sprint(i%100), fmt.Sprintf("%d.txt", i)), "content\n")
	}
	h := &hooked{suite: s, dir: dir, env: []string{"XDG_RUNTIME_DIR=" + s.runtime()}}
	check(s.command(dir, h.env, s.program, "use", intentID(0)).Run())
	var cold samples
	for range pick(s.short, 3, 15) {
		h.endServer()
		cold = append(cold, h.before("Write", args{"file_path": h.at("cold.txt"), "content": "x\n"}))
	}
	taken := s.interleave(n,
		func() time.Duration {
			return h.before("Write", args{"file_path": h.at("a.txt"), "content": strconv.Itoa(h.calls)})
		},
		func() time.Duration {
			took := h.before("Bash", args{"command": "true"})
			h.tell(args{"hook_event_name": "Stop"}) // it is not run
			return took
		})
	h.endServer()
	name := func(what string) string {
		return fmt.Sprintf("hook before %s, whole process, p50, %s files", what, thousands(int64(files)))
	}
	s.add(
		atMost(name("a write, a server runs"), ms(taken[0].p50()), 10, milliseconds, taken[0].String()),
		atMost(name("a command, a server runs"), ms(taken[1].p50()), 10, milliseconds, taken[1].String()),
		atMost(name("a write, and it starts the server"), ms(cold.p50()), 60, milliseconds, cold.String()),
	)
}

// hooked is a workspace with a client that has hooks.
type hooked struct {
	*suite
	dir   string
	env   []string
	calls int
}

func (h *hooked) at(name string) string { return filepath.Join(h.dir, "src", name) }

// before has the hook asked about a call, which is then not made.
func (h *hooked) before(tool string, input args) time.Duration {
	h.calls++
	start := time.Now()
	h.tell(args{"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "tool_use_id": strconv.Itoa(h.calls)})
	return time.Since(start)
}

func (h *hooked) tell(event args) {
	event["session_id"], event["cwd"], event["permission_mode"] = "bench", h.dir, "default"
	text, err := json.Marshal(event)
	check(err)
	cmd := h.command(h.dir, h.env, h.program, "hook", "claude-code")
	cmd.Stdin = bytes.NewReader(text)
	out, err := cmd.Output()
	check(err)
	if bytes.Contains(out, []byte(`"deny"`)) {
		check(fmt.Errorf("the hook denied: %s", out))
	}
}

// endServer ends the server that a hook has started, if one runs.
func (h *hooked) endServer() {
	marks, err := filepath.Glob(filepath.Join(h.dir, ".orchestration/state/servers/*.json"))
	check(err)
	for _, mark := range marks {
		var server struct {
			PID int `json:"pid"`
		}
		text, err := os.ReadFile(mark)
		check(err)
		check(json.Unmarshal(text, &server))
		process, err := os.FindProcess(server.PID)
		check(err)
		_ = process.Signal(os.Interrupt)
		for _, err := os.Stat(mark); err == nil; _, err = os.Stat(mark) {
			check(h.ctx.Err())
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// runtime is a directory for sockets, whose names must be short.
func (s *suite) runtime() string {
	dir, err := os.MkdirTemp("", "run")
	check(err)
	s.atEnd(func() error { return os.RemoveAll(dir) })
	return dir
}
