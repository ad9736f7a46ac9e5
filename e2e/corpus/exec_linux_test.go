package corpus_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// lets has the hook let a line through, and gives what it makes of it.
func (w *world) lets(line string) string {
	w.t.Helper()
	pre := w.announces("SRC", "Bash", args{"command": line})
	made, _ := pre.Input["command"].(string)
	check.Must(w.t, pre.Decision != "deny" && made != "", "%q: %+v", line, pre)
	return made
}

// job is the file of the one job that waits, or will.
func (w *world) job() string {
	w.t.Helper()
	for range 6000 { // longer than any machine takes
		jobs := check.Value(filepath.Glob(filepath.Join(w.ws, ".orchestration/state/native/jobs/*.json")))(w.t)
		if len(jobs) == 1 {
			return jobs[0]
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.t.Fatal("no job waits")
	return ""
}

// idle tells that the client's turn has ended.
func (w *world) idle() {
	w.tellsHook("SRC", "Stop", args{"stop_hook_active": false})
	w.tellsHook("SRC", "Stop", args{"stop_hook_active": false})
}

func (w *world) has(name string) bool {
	_, err := os.Lstat(filepath.Join(w.ws, name))
	return err == nil
}

// TestLinesThatNoHookMade: what is not just what was let through does not run.
func TestLinesThatNoHookMade(t *testing.T) {
	w := attackedWorld(t, levels(t)[0], false, false, true, clientProgram(t))
	const line = "touch src/made"
	for _, c := range []struct {
		name string
		line func(made string) string
		dir  string
	}{
		{name: "a made-up id", line: func(made string) string {
			words := strings.Fields(made)
			return strings.Replace(made, words[2], strings.Repeat("a", len(words[2])), 1)
		}},
		{name: "a used id", line: func(made string) string {
			check.OK(t, w.shell(made).Run())
			check.OK(t, os.Remove(filepath.Join(w.ws, "src/made")))
			return made
		}},
		{name: "another line", line: func(made string) string { return strings.Replace(made, "src/made", "src/other", 1) }},
		{name: "another directory", dir: "src"},
		{name: "an expired job", line: func(made string) string {
			w.edits(w.job(), func(job map[string]any) { job["expires"] = time.Now().Add(-time.Second) })
			return made
		}},
		{name: "the job of another line", line: func(made string) string {
			w.edits(w.job(), func(job map[string]any) { job["line"] = "touch src/other" })
			return made
		}},
		{name: "no job any more", line: func(made string) string { check.OK(t, os.Remove(w.job())); return made }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.in(t)
			made := w.lets(line)
			if c.line != nil {
				made = c.line(made)
			}
			cmd := w.shell(made)
			cmd.Dir = filepath.Join(w.ws, c.dir)
			out, _ := cmd.CombinedOutput()
			check.Equal(t, cmd.ProcessState.ExitCode(), 126, string(out))
			check.That(t, strings.Contains(string(out), "nothing was run"), "it says %q", out)
			check.That(t, !w.has("src/made") && !w.has("src/other") && !w.has("src/src"), "it was run")
			w.idle()
		})
	}
	t.Run("its job twice at a time", func(t *testing.T) {
		made := w.in(t).lets("echo x >> src/made; sleep 0.2")
		one, two := w.shell(made), w.shell(made)
		check.OK(t, errors.Join(one.Start(), two.Start()))
		_, _ = one.Process.Wait()
		_, _ = two.Process.Wait()
		check.Equal(t, string(check.Value(os.ReadFile(filepath.Join(w.ws, "src/made")))(t)), "x\n")
	})
	long := w.in(t).announces("SRC", "Bash", args{"command": ": " + strings.Repeat("'x'", 30_000)})
	check.That(t, long.Decision == "deny" && strings.Contains(long.Reason, "too long"), "a line that no shell takes: %.200q", long.Reason)
	w.idle()
	check.OK(t, w.server.end())
}

// TestTheClientIsToldOfViolations: with the first answer that its model reads once they are known.
func TestTheClientIsToldOfViolations(t *testing.T) {
	w := attackedWorld(t, sandbox.None, false, false, true, clientProgram(t))
	made := w.lets("echo x | tee docs/other.md")
	check.OK(t, w.shell(made).Run())
	first := w.tellsHook("SRC", "PostToolUse", args{"tool_name": "Bash", "tool_use_id": "x", "tool_input": args{"command": made}, "tool_response": args{}})
	next := w.tellsHook("SRC", "PostToolUse", args{"tool_name": "Read", "tool_use_id": "r", "tool_input": args{"file_path": filepath.Join(w.ws, "src/a.txt")}, "tool_response": args{}})
	told := first.Note + next.Note
	check.That(t, strings.Contains(told, "COMMAND_OUT_OF_SCOPE") && strings.Contains(told, "docs/other.md"), "it is told %q", told)
	check.OK(t, w.server.end())
}

// edits changes a job as a process of the same user can that no sandbox holds.
func (w *world) edits(file string, change func(map[string]any)) {
	w.t.Helper()
	var job map[string]any
	check.OK(w.t, json.Unmarshal(check.Value(os.ReadFile(file))(w.t), &job))
	change(job)
	check.OK(w.t, os.WriteFile(file, check.Value(json.Marshal(job))(w.t), 0o600))
}

// TestCommandsReachNoOtherJob: while a job waits, a command can neither change nor run it, nor speak as a client does.
func TestCommandsReachNoOtherJob(t *testing.T) {
	program := clientProgram(t)
	for _, level := range levels(t)[1:] {
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			w := attackedWorld(t, level, false, false, true, program)
			real := filepath.Join(w.home, realProgram) // which the sandbox shows
			check.OK(t, os.Link(filepath.Join(filepath.Dir(program), realProgram), real))
			waiting := w.lets("touch src/waited")
			waits := w.job()
			job := check.Value(os.ReadFile(waits))(t)
			id := strings.Fields(waiting)[2]
			event := `{"session_id":"ALL","cwd":"` + w.ws + `","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"` + w.ws + `/docs/other.md","content":"x"},"tool_use_id":"f"}`
			w.put("ws/src/event.json", event)
			w.put("ws/src/ask.py", `import base64, glob, json, socket
s = socket.socket(socket.AF_UNIX); s.connect(glob.glob('`+w.runtime()+`/orchestra-mcp/*.sock')[0])
t = open(glob.glob('`+w.runtime()+`/orchestra-mcp/*.token')[0]).read()
s.sendall(json.dumps({'token': t, 'op': 'event', 'client': 'claude-code', 'event': base64.b64encode(open('src/event.json', 'rb').read()).decode()}).encode() + b'\n')
print('REA' 'CHED', s.recv(1000))`)
			orphan := `setsid sh -c 'env -i PATH="$PATH" XDG_RUNTIME_DIR=` + w.runtime() + ` setsid sh src/out.sh < src/event.json > src/said 2>&1 &' & until grep -q done src/said; do sleep 0.05; done; cat src/said`
			for _, line := range []string{
				"for f in .orchestration/state/native/jobs/*; do echo x > $f; done; true",
				"cp -r .orchestration/state src/state; rm -rf .orchestration/state/native; mv src .orchestration/state/native; true",
				"cat " + waits + " && echo REACHED",
				"cat " + w.runtime() + "/orchestra-mcp/* && echo REACHED",
				"echo x > " + w.runtime() + "/orchestra-mcp/dir-x; true",
				"python3 src/ask.py",
				real + " exec " + id + " -- 'touch src/waited' && echo REACHED",
				"env -i PATH=$PATH " + real + " exec " + id + " -- 'touch src/waited' && echo REACHED",
				real + " use ALL && echo REACHED", "env -i HOME=$HOME " + real + " use ALL && echo REACHED",
				real + " hook claude-code < src/event.json | grep -q '\"deny\"' || echo REACHED",
				"exec:" + real + " exec " + id + " -- 'touch src/waited' && echo REACHED",
				"exec:HOME=" + w.home + " " + real + " use ALL && echo REACHED",
				"exec:" + real + " hook claude-code | grep -q deny || echo REACHED",
			} {
				what := line
				if script, is := strings.CutPrefix(line, "exec:"); is { // by an orphan without an environment
					w.put("ws/src/out.sh", script+"; echo done")
					w.put("ws/src/said", "")
					line = orphan
				}
				a := w.byClient("ALL", line)
				t.Logf("%s: %.600v %v", line, a.Fields, w.has(strings.TrimPrefix(waits, w.ws)))
				check.That(t, !strings.Contains(a.text("output"), "REACHED"), "%s: %v", line, a.Fields)
				if strings.Contains(what, " exec ") || strings.Contains(what, " use ") {
					check.That(t, strings.Contains(a.text("output"), "governed"), "%s: %v", line, a.Fields)
				}
				check.That(t, !w.has("src/waited"), "%s: the job has run", line)
			}
			check.That(t, bytes.Equal(check.Value(os.ReadFile(w.job()))(t), job), "the job is another")
			check.That(t, len(w.base.differs(w.look())) > 0, "nothing was done")
			check.OK(t, w.shell(waiting).Run())
			check.That(t, w.has("src/waited"), "the job does not run any more")
			w.idle()
			check.OK(t, w.server.end())
		})
	}
}

// TestExecKilled: however the process ends that runs a command, nothing of the command is left, and one record says so.
func TestExecKilled(t *testing.T) {
	program := clientProgram(t)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // else what runs the tests could have its children ignore it (nohup)
	t.Cleanup(func() { signal.Reset(syscall.SIGHUP) })
	for _, level := range levels(t) {
		for name, end := range map[string]func(w *world, pid int){
			"SIGTERM":                       func(_ *world, pid int) { _ = syscall.Kill(pid, syscall.SIGTERM) },
			"SIGHUP":                        func(_ *world, pid int) { _ = syscall.Kill(pid, syscall.SIGHUP) },
			"SIGKILL":                       func(_ *world, pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) },
			"SIGKILL, with nobody in reach": func(_ *world, pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) },
			"SIGKILL of its group":          func(_ *world, pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) },
			"end of the server":             func(w *world, _ int) { _ = w.server.in.Close() },
			"SIGKILL of the server":         func(w *world, _ int) { _ = w.server.cmd.Process.Kill() },
		} {
			if !check.Long() && level != sandbox.Landlock && (level != sandbox.Full || name != "SIGKILL") {
				continue
			}
			t.Run(string(level)+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := attackedWorld(t, level, false, false, true, program)
				made := w.lets("sleep 1000 & setsid sleep 1001 & sh -c 'setsid sleep 1002 & sleep 1003' & touch src/begun; sleep 1004")
				cmd, alone := w.shell(made), strings.Contains(name, "nobody")
				if alone { // as in a client's own sandbox
					cmd.Env = append(cmd.Env, "XDG_RUNTIME_DIR="+w.top)
				}
				check.OK(t, cmd.Start())
				w.await("src/begun")
				end(w, cmd.Process.Pid) // which bash has become
				_ = cmd.Wait()
				t.Logf("it ended with %v", cmd.ProcessState)
				if strings.Contains(name, "server") {
					_ = w.server.end()
					w.begin(program)
				}
				if !alone { // the client may say nothing when its user interrupts it
					w.tellsHook("SRC", "PostToolUse", args{"tool_name": "Bash", "tool_use_id": "x", "tool_input": args{"command": made}, "tool_response": args{"interrupted": true}})
				}
				w.idle()
				for late := time.Now().Add(recordTime); strings.Count(w.ledger(), `"command":{"command"`) == 0 && time.Now().Before(late); time.Sleep(5 * time.Millisecond) {
				}
				check.That(t, len(w.running()) == 0, "still there: %q", w.running())
				check.Equal(t, strings.Count(w.ledger(), `"command":{"command"`), 1, "records of the command")
				if name == "end of the server" {
					check.That(t, w.lastCommand()["command"].(map[string]any)["exit_code"] == 143.0, "%v", w.lastCommand())
				}
				check.OK(t, w.server.end())
			})
		}
	}
}

// TestExecIsLikeTheShell: a line prints, reads and ends through the hook as it does without.
func TestExecIsLikeTheShell(t *testing.T) {
	w := attackedWorld(t, sandbox.Full, false, false, true, clientProgram(t))
	w.put("ws/src/plain", "no program")
	check.OK(t, os.Chmod(filepath.Join(w.ws, "src/plain"), 0o644))
	for _, line := range []string{
		"true", "exit 1", "src/plain", "no-such-program-at-all", "exit 130", "exit 300", "kill -9 $$", "kill -TERM $$", "kill -INT $$; exit 5", "kill -PIPE $$",
		"echo out; echo err >&2", "cat", "cat; echo err >&2; exit 3", "head -c 3; exit 4", "exec >&-; echo x", "exec >&- 2>&-; exit 6", "exec <&-; cat",
		"head -c 3000000 /dev/zero | tr '\\0' x", "-x", "+x", "--", "- x; echo y", `printf '%s\n' "a'b" 'c"d' \$HOME "$((1+1))" '\'`, "echo a\necho b\n", "cat <<'E'\na $b 'c'\nE\n",
		"cat <<E; cd src; pwd -P\n$((2*3))\nE", "cd src && pwd", "cd src; exit 7", "false; cd src", "cd nowhere", "echo a # b", "! true", "set -e; false; echo no", "trap 'echo bye' EXIT; exit 3",
		"trap 'echo bye' EXIT; cd src; exit 3", `printf '\0\1\377\n'`, "echo ä€😀", ": " + strings.Repeat("x", 100_000) + "; echo end", "echo hi > >(cat)", "echo hi > >(sleep 0.1; cat)", "f() { echo $1; }; f x",
		"echo 'unended", "if", "(exit 9)", "sleep 100 & echo on", "setsid sleep 100 & echo on",
	} {
		name := fmt.Sprintf("%.40q", line)
		want, got := w.shell(line), w.shell(w.lets(line))
		switch {
		case strings.Contains(line, "sleep 100"):
			want = w.shell("echo on")
		case strings.IndexAny(line, "-+") == 0: // the shell would take it for an option
			want = w.shell(" " + line)
		}
		type outcome struct {
			out, err string
			code     int
			signal   syscall.Signal
		}
		var both []outcome
		for _, cmd := range []*exec.Cmd{want, got} {
			var out, errs bytes.Buffer
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("one\ntwo\n"), &out, &errs
			err := cmd.Run()
			_, exited := errors.AsType[*exec.ExitError](err)
			check.Must(t, err == nil || exited || errors.Is(err, syscall.EPIPE), "%s: %v", name, err)
			o := outcome{out: out.String(), err: errs.String(), code: cmd.ProcessState.ExitCode()}
			if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() {
				o.code = 128 + int(status.Signal())
			}
			both = append(both, o)
		}
		plain, hooked := both[0], both[1]
		check.That(t, plain.out == hooked.out, "%s prints %.200q, without the hook %.200q", name, hooked.out, plain.out)
		check.That(t, plain.code == hooked.code, "%s ends with %d, without the hook %d", name, hooked.code, plain.code)
		if plain.err != hooked.err {
			t.Logf("%s: %q, without the hook %q", name, hooked.err, plain.err)
		}
		check.That(t, strings.Contains(line, "sleep 100") || (plain.err == "") == (hooked.err == ""), "%s: %q, without the hook %q", name, hooked.err, plain.err)
	}
	check.That(t, len(w.running()) == 0, "still there: %q", w.running())
	w.idle()
	check.OK(t, w.server.end())
}

// TestExecInATerminal: a command in a client's terminal has one, but not the client's.
func TestExecInATerminal(t *testing.T) {
	w := attackedWorld(t, sandbox.Full, false, false, true, clientProgram(t))
	for _, c := range []struct{ line, when, types, want, piped string }{
		{line: "echo out; echo err >&2", want: "err\r\n", piped: "out\n"},
		{line: "echo begun >&2; read x; echo got $x", when: "begun", types: "hello\n", want: "hello\r\n", piped: "got hello\n"},
		{line: "test -t 0 && test -t 1 && test -t 2 && echo all three", want: "all three\r\n"},
		{line: "echo begun; read x; echo got $x", when: "begun", types: "hello\n", want: "got hello\r\n"},
		{line: "stty size", want: "30 100\r\n"},
		{line: "[ $(readlink /proc/self/fd/0) = {TTY} ] || echo another", want: "another\r\n"},
		{line: "echo begun; cat; echo ended", when: "begun", types: "\x04", want: "ended\r\n"},
		{line: "trap 'echo caught; exit' INT; echo begun; while :; do sleep 0.1; done", when: "begun", types: "\x03", want: "caught\r\n"},
	} {
		t.Run(c.line, func(t *testing.T) {
			w.in(t)
			ours, theirs, err := pty.Open()
			check.OK(t, err)
			check.OK(t, pty.Setsize(ours, &pty.Winsize{Rows: 30, Cols: 100}))
			cmd := w.shell(w.lets(strings.ReplaceAll(c.line, "{TTY}", theirs.Name())))
			cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
			var piped bytes.Buffer
			if c.piped != "" {
				cmd.Stdout = &piped
			}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			check.OK(t, cmd.Start())
			theirs.Close()
			stuck := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
			defer stuck.Stop()
			var out []byte
			for part, typed := make([]byte, 1000), false; err == nil; {
				var n int
				n, err = ours.Read(part)
				out = append(out, part[:n]...)
				if !typed && c.types != "" && bytes.Contains(out, []byte(c.when)) {
					typed = true
					_, _ = ours.WriteString(c.types)
				}
			}
			_ = cmd.Wait()
			check.Equal(t, piped.String(), c.piped)
			check.That(t, strings.Contains(string(out), c.want), "it prints %q, want %q", out, c.want)
		})
	}
	w.in(t).idle()
	check.OK(t, w.server.end())
}
