package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/cgroup"
)

const (
	// bombLimit is how many processes a command may have in these tests.
	bombLimit = 100
	// bombBound holds the server with all that it starts, whatever it does
	// itself, where the machine has control groups.
	bombBound = 1500
)

// bomb makes processes without end.
type bomb struct{ name, line string }

func bombs() []bomb {
	return []bomb{
		// Its first shell stays: what a shell leaves behind ends with it, here perhaps before the limit.
		{"the classic one", ":(){ :|:& };:; sleep 300"},
		{"python", `python3 -c 'import os, time
while True:
    try: os.fork()
    except OSError: time.sleep(0.01)'`},
		{"sessions of their own", "while :; do setsid sleep 300 & done 2> /dev/null"},
		{"sessions, and parents that end", `export F='setsid -f sh -c "$F"; setsid -f sh -c "$F"; sleep 300'; sh -c "$F"`},
		{"deaf to SIGTERM", `trap "" TERM HUP INT; b() { (trap "" TERM HUP INT; while :; do sleep 100; done) & b & b; }; b`},
		{"without an environment", `while :; do env -i PATH="$PATH" setsid sh -c 'sleep 300' & done 2> /dev/null`},
	}
}

// A fork bomb meets its limit at every level, whatever holds it there: the
// answer says so, another session is served meanwhile, and nothing is left. Without ORCHESTRA_LONG=1 a control group, which
// holds all levels alike, is tried at the best one only.
func TestForkBombs(t *testing.T) {
	pids := readFile(t, "/proc/sys/kernel/pid_max")
	for i, m := range machines(t) {
		if check.Short() && i > 0 {
			continue
		}
		for _, m := range []machine{m, m.ungrouped()} {
			if !check.Long() && i > 0 && m.limit == "" {
				continue
			}
			t.Run(m.name, func(t *testing.T) {
				tried := bombs()
				switch {
				case check.Long():
				case m.limit == "":
					tried = tried[:1]
				default:
					tried = tried[1+i : 2+i]
				}
				bombed(t, m, tried)
			})
		}
	}
	check.Equal(t, readFile(t, "/proc/sys/kernel/pid_max"), pids, "the machine's greatest process id was")
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	content := check.Value(os.ReadFile(name))(t)
	return strings.TrimSpace(string(content))
}

func bombed(t *testing.T, m machine, tried []bomb) {
	w := newWorkspace(t)
	p := w.bounded(m, "ORCHESTRA_COMMANDS_MAX_PROCESSES="+fmt.Sprint(bombLimit), unjudged)
	a := p.agent()
	session, other := a.Selects("INT-001"), a.Selects("INT-005")
	timeout := 3 // a group only refuses
	if m.limit != "" {
		timeout = 30
	}
	for _, b := range tried {
		w.write("src/kept.txt", b.name)
		begun := time.Now()
		p.send(callLine("bomb", "execute_command", args{"session": session, "timeout": timeout, "command": ": a bomb; " + b.line}))
		r, served, most := p.meanwhile("bomb", w, other)
		t.Logf("%s: %v, %d processes seen, %d reads served meanwhile, %v", b.name, time.Since(begun).Round(time.Millisecond), most, served, r.Object["process_limit"])
		if served == 0 && time.Since(begun) > time.Second { // some end before a read could be answered
			t.Errorf("%s: nobody else was served", b.name)
		}
		check.That(t, !r.Error && r.Str("sandbox") == m.level, "%s: %s", b.name, r.Text)
		limit, _ := r.Object["process_limit"].(map[string]any)
		if limit["max"] != float64(bombLimit) || limit["reached"] != true || m.limit != "" && limit["by"] != m.limit {
			t.Errorf("%s: %v, took %v", b.name, limit, time.Since(begun))
		}
		said := fmt.Sprint(r.Object["warnings"])
		check.That(t, strings.Contains(said, fmt.Sprint(bombLimit)), "%s: the result does not name the limit: %s", b.name, said)
		eventually(t, b.name+": nothing is left", func() bool { return len(w.left(p)) == 0 })
		w.want("src/kept.txt", b.name)
		if r := a.OK("execute_command", args{"session": session, "command": "echo still here"}); r.Str("output") != "still here\n" {
			t.Errorf("%s: the next command says %q", b.name, r.Str("output"))
		}
	}
	zombies := children(t, p, "Z")
	check.That(t, len(zombies) == 0, "%d processes that nobody has taken leave of", len(zombies))
	w.wantRecord(`"kind":"command"`, "a bomb")
}

// bounded is startedOn, in a control group that holds whatever the program does.
func (w *workspace) bounded(m machine, env ...string) *process {
	w.t.Helper()
	cmd := w.serves(m)
	leave := func() error { return nil }
	if parent, err := cgroup.Find(); err == nil {
		group, err := parent.New("e2e-"+filepath.Base(filepath.Dir(w.home))+"-"+fmt.Sprint(os.Getpid()), bombBound)
		check.OK(w.t, err)
		w.t.Cleanup(func() {
			if err := group.Remove(); err != nil {
				w.t.Errorf("the bombs left something: %v", err)
				defuse(group)
			}
		})
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if leave, err = group.Enter(cmd.SysProcAttr); err != nil {
			w.t.Fatal(err)
		}
	}
	p := w.startAs(cmd, append(m.env, env...)...)
	check.OK(w.t, leave())
	return p.initialized()
}

// defuse ends what a test has let go: without it the machine would be no good.
func defuse(group *cgroup.Group) {
	group.Seal()
	for range 100 {
		for _, pid := range group.Processes() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if group.Remove() == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// meanwhile reads a file in another session until the answer to a call comes, and says how often that was answered
// before, and how many processes of the workspace were seen at most.
func (p *process) meanwhile(id any, w *workspace, session string) (r answer, served, most int) {
	p.t.Helper()
	for i := 0; ; i++ {
		read := fmt.Sprintf("read%d", i)
		p.send(callLine(read, "read_file", args{"path": "src/a.txt", "session": session}))
		for {
			m, ok := p.next()
			check.Must(p.t, ok, "the program ended\n%s", p.log)
			if fmt.Sprint(m.ID) == fmt.Sprint(id) {
				r = m.result(p.t)
			}
			if m.ID == read {
				break
			}
		}
		if r.Text != "" {
			return r, served, most
		}
		served++
		most = max(most, len(w.left(p)))
		time.Sleep(20 * time.Millisecond) // it is to be served, not to take the processors
	}
}

// children are the processes that have the program as their parent and are in one of the states.
func children(t *testing.T, p *process, states string) (pids []string) {
	t.Helper()
	names := check.Value(filepath.Glob("/proc/[0-9]*/stat"))(t)
	for _, name := range names {
		stat, _ := os.ReadFile(name)
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[1] == fmt.Sprint(p.cmd.Process.Pid) && strings.Contains(states, fields[0]) {
			pids = append(pids, filepath.Base(filepath.Dir(name)))
		}
	}
	slices.Sort(pids)
	return pids
}
