package corpus_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/hookdoor"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
)

// Environment variables that make this test binary more than a server on standard input and output.
const (
	// hooksEnv has the server answer the hooks of clients too.
	hooksEnv = "CORPUS_HOOKS"
	// askEnv names a workspace: hand an event to its server, as a hook does, which only its user can.
	askEnv = "CORPUS_ASK"
	// sessionEnv is the session that it is of.
	sessionEnv = "CORPUS_SESSION"
)

// realProgram is what the lines of hooks run. It lies beside the test binary, whose name they have.
const realProgram = "orchestra-mcp"

// becomeProgram goes on as the program itself where a line of a hook started this one.
func becomeProgram() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	program := filepath.Join(filepath.Dir(self), realProgram)
	return syscall.Exec(program, append([]string{program}, os.Args[1:]...), os.Environ())
}

// builtAt is where the program is built, once.
func builtAt() string { return filepath.Join(os.TempDir(), fmt.Sprint("corpus-program-", os.Getpid())) }

var built = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("go", "build", "-ldflags=-w", "-o", builtAt(), "../../cmd/orchestra-mcp").CombinedOutput()
})

// clientProgram is testProgram with the real one beside it.
func clientProgram(t *testing.T) string {
	t.Helper()
	out, err := built()
	check.Must(t, err == nil, "build the program: %v\n%s", err, out)
	program := testProgram(t)
	check.OK(t, os.WriteFile(filepath.Join(filepath.Dir(program), realProgram), check.Value(os.ReadFile(builtAt()))(t), 0o755))
	return program
}

// runtime is where the server of the world's hooks listens.
func (w *world) runtime() string { return filepath.Join(w.home, "run") }

func askServer(runtime, workspace, terminal string, event []byte) (hookdoor.Reply, error) {
	conn, err := hookdoor.Find(func(string) string { return runtime }).Dial(workspace)
	if err != nil {
		return hookdoor.Reply{}, err
	}
	defer conn.Close()
	return conn.Ask(hookdoor.Request{Op: "event", Client: "claude-code", Event: event, Terminal: terminal})
}

// askAsUser is askServer in a process of its own.
func askAsUser(workspace string) error {
	event, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	reply, err := askServer(os.Getenv("XDG_RUNTIME_DIR"), workspace, os.Getenv(sessionEnv), event)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(reply)
}

// said is what a client makes of the answer to a hook. Gone: no server answered.
type said struct {
	Gone     bool
	Decision string         `json:"permissionDecision"`
	Reason   string         `json:"permissionDecisionReason"`
	Input    map[string]any `json:"updatedInput"`
	Note     string         `json:"additionalContext"`
}

// tellsHook has a hook of the client announce an event. A session of the client has the name of its intent, and so has the terminal
// that it runs in.
func (w *world) tellsHook(session, name string, more args) said {
	w.t.Helper()
	event := args{"session_id": session, "transcript_path": "", "cwd": w.ws, "permission_mode": "bypassPermissions", "hook_event_name": name}
	for key, value := range more {
		event[key] = value
	}
	raw := check.Value(json.Marshal(event))(w.t)
	var reply hookdoor.Reply
	var err error
	if w.user && os.Getuid() == 0 {
		ask := exec.Command(w.server.cmd.Path)
		ask.Env, ask.Stdin = w.clientEnv(askEnv+"="+w.ws, sessionEnv+"="+session), bytes.NewReader(raw)
		ask.SysProcAttr = &syscall.SysProcAttr{Credential: credential()}
		var out []byte
		if out, err = ask.Output(); err == nil {
			err = json.Unmarshal(out, &reply)
		}
	} else {
		reply, err = askServer(w.runtime(), w.ws, session, raw)
	}
	if err != nil {
		return said{Gone: true, Reason: err.Error()}
	}
	var out struct {
		Specific said `json:"hookSpecificOutput"`
	}
	if len(reply.Stdout) > 0 {
		check.OK(w.t, json.Unmarshal(reply.Stdout, &out))
	}
	return out.Specific
}

// clientEnv is the environment of the world's client.
func (w *world) clientEnv(more ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "XDG_RUNTIME_DIR=" + w.runtime(),
		"SSH_AUTH_SOCK=" + filepath.Join(w.home, "run/agent.sock"), "GIT_CONFIG_NOSYSTEM=1", "LANG=C.UTF-8",
	}, more...)
}

// awaitHooks waits until the server answers hooks, which is soon after its first answer, and begins the client's sessions.
func (w *world) awaitHooks() {
	w.t.Helper()
	for late := time.Now().Add(answerTime); w.tellsHook("SRC", "SessionStart", nil).Gone; time.Sleep(5 * time.Millisecond) {
		check.Must(w.t, time.Now().Before(late), "no server answers hooks\n%s", w.server.log)
	}
	for session := range w.sessions {
		first := w.announces(session, "Read", args{"file_path": filepath.Join(w.ws, "src/a.txt")})
		check.Must(w.t, first.Decision == "", "%+v", first)
	}
	records, err := os.Open(ledgertest.File(w.ws))
	check.OK(w.t, err)
	w.t.Cleanup(func() { records.Close() })
	w.records = records
}

// announces says before a call what it will be.
func (w *world) announces(session, tool string, input args) said {
	w.t.Helper()
	w.calls++
	return w.tellsHook(session, "PreToolUse", args{"tool_name": tool, "tool_input": input, "tool_use_id": fmt.Sprint("toolu_", w.calls)})
}

// shell is the client's: it runs what the hook has made of a line.
func (w *world) shell(line string) *exec.Cmd {
	cmd := exec.Command("bash", "-c", line)
	cmd.Dir, cmd.Env = w.ws, w.clientEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if w.user {
		cmd.SysProcAttr.Credential = credential()
	}
	return cmd
}

// byClient has a client run a line in its own shell, and gives what the answer of execute_command would say: what the ledger does.
func (w *world) byClient(session, line string) answer {
	w.t.Helper()
	lines, last := w.ledger(), w.lastCommand()["id"]
	pre := w.announces(session, "Bash", args{"command": line})
	if pre.Gone {
		return answer{Gone: true}
	}
	if pre.Decision == "deny" {
		return refusal(pre.Reason)
	}
	call, made := fmt.Sprint("toolu_", w.calls), pre.Input["command"].(string)
	cmd := w.shell(made)
	out, err := cmd.CombinedOutput()
	_, exited := errors.AsType[*exec.ExitError](err)
	check.Must(w.t, err == nil || exited, "%v", err)
	w.tellsHook(session, "PostToolUse", args{
		"tool_name": "Bash", "tool_use_id": call, "tool_input": args{"command": made},
		"tool_response": args{"stdout": string(out), "stderr": "", "interrupted": false, "isImage": false},
	})
	if stop := w.tellsHook(session, "Stop", args{"stop_hook_active": false}); stop.Gone {
		return answer{Gone: true}
	}
	return w.onRecord(session, lines, last, string(out), cmd.ProcessState.ExitCode())
}

func refusal(reason string) answer {
	code, _, _ := strings.Cut(reason, ":")
	return answer{IsError: true, Fields: map[string]any{"error_type": code, "error": reason}}
}

// onRecord waits for the record of a command, which follows the last one. Where the ledger is not what it was, the record may come
// all the same, or the client is told what became of it.
func (w *world) onRecord(session, lines string, last any, out string, exit int) answer {
	w.t.Helper()
	for late := time.Now().Add(recordTime); time.Now().Before(late); time.Sleep(5 * time.Millisecond) {
		if r := w.lastCommand(); r != nil && r["id"] != last {
			return w.recordedAnswer(r, out, exit)
		}
		if strings.HasPrefix(w.ledger(), lines) {
			continue
		}
		next := w.announces(session, "Write", args{"file_path": filepath.Join(w.ws, "src/none.txt"), "content": "x\n"})
		if w.lastCommand()["id"] == last && (next.Gone || strings.HasPrefix(next.Reason, "LEDGER_UNAVAILABLE")) {
			return refusal(next.Reason)
		}
	}
	w.t.Fatalf("the command is not recorded\n%s", w.server.log)
	return answer{}
}

// recordTime is longer than any record takes.
const recordTime = time.Minute

// lastCommand is the newest record of a command, nil without one, wherever the ledger's file is by now.
func (w *world) lastCommand() (last map[string]any) {
	w.t.Helper()
	text := check.Value(io.ReadAll(io.NewSectionReader(w.records, 0, math.MaxInt64)))(w.t)
	for line := range strings.Lines(w.ledger() + string(text)) {
		var r struct {
			ID       string                    `json:"id"`
			Metadata map[string]map[string]any `json:"metadata"`
		}
		if json.Unmarshal([]byte(line), &r) != nil {
			continue // an attack's
		}
		if ours := r.Metadata["orchestra-mcp"]; ours["kind"] == "command" {
			last, ours["id"] = ours, r.ID
		}
	}
	return last
}

// recordedAnswer is a record in the words of an answer of execute_command.
func (w *world) recordedAnswer(r map[string]any, out string, exit int) answer {
	w.t.Helper()
	command, _ := r["command"].(map[string]any)
	check.That(w.t, command["sandbox"] == string(w.level), "it ran at the level %v", command["sandbox"])
	check.That(w.t, command["exit_code"] == float64(exit) || exit == 128+9, "the record says %v, and the shell has ended with %d", command["exit_code"], exit)
	fields := map[string]any{"output": out, "record_id": r["id"], "exit_code": command["exit_code"], "sandbox": command["sandbox"]}
	violations := objects(r["violations"])
	if len(violations) == 0 {
		return answer{Fields: fields}
	}
	for _, c := range objects(r["changes"]) {
		c["in_scope"] = false // as far as it says where a file came from
	}
	fields["error_type"], fields["changed_files"], fields["details"] = "COMMAND_OUT_OF_SCOPE", r["changes"], map[string]any{"violations": r["violations"]}
	return answer{IsError: true, Fields: fields}
}
