package server_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// faults are what each system call of a mutation is made to do, in strace's words.
var faults = []string{"error=EIO", "error=ENOSPC", "signal=SIGKILL"}

// passing are the system calls of the Go runtime itself, which a disk cannot fail.
var passing = []string{
	"futex", "epoll_pwait", "epoll_ctl", "epoll_create1", "eventfd2", "nanosleep", "sched_yield", "madvise", "mmap", "munmap", "mprotect",
	"rt_sigprocmask", "rt_sigaction", "rt_sigreturn", "sigaltstack", "tgkill", "getpid", "gettid", "clone", "clone3", "restart_syscall",
	"exit", "exit_group", "getrandom", "set_robust_list", "rseq", "prctl", "getgid", "getuid", "geteuid", "getegid", "+++",
}

// TestFailingDiskLosesNothing makes the system calls of one patch of four files fail, or kill the server, one after the
// other. Whatever the server then answers, after a restart the ledger tells what the disk shows.
//
// strace counts the calls of each thread for itself, so each run names a call and its number, and goes on until no
// thread makes so many. The short form takes the first of each call, in one of the ways by turns, under the race
// detector of every other one; ORCHESTRA_LONG=1 takes all.
func TestFailingDiskLosesNothing(t *testing.T) {
	t.Parallel()
	check.Needs(t, "strace")
	f := &faultRun{t: t}
	f.renew()
	calls := f.discover()
	deepest := check.Rounds(1, 1000)
	for i, call := range calls {
		if check.Long() || i%5 == 0 {
			f.renew() // a short ledger is audited fast
		}
		for j, fault := range faults {
			if !check.Long() && j != i%len(faults) || check.Short() && i%2 != 0 {
				continue
			}
			for n := 1; n <= deepest && f.inject(fmt.Sprintf("%s:%s:when=%d", call, fault, n)); n++ {
			}
		}
	}
	f.settle()
	f.total.add(f.audit)
	t.Logf("%d faults in %v: %d calls acknowledged, %d refused with nothing changed, %d refused with something changed, %d unanswered; %d records, %d recovered (%d probable)",
		f.injected, calls, f.acknowledged, f.refused, f.standing, f.unanswered, f.total.records, f.total.recovered, f.total.probable)
	check.That(t, f.injected >= len(calls)/2 || check.Short() && f.injected > 0, "only %d faults were injected", f.injected)
}

// faultRun injects faults into servers of one workspace, one after the other.
type faultRun struct {
	t     *testing.T
	dir   string
	audit *audit
	round int
	after string // when the next server comes
	total crashTotals

	injected, acknowledged, refused, standing, unanswered int
}

// renew begins with a new workspace.
func (f *faultRun) renew() {
	if f.audit != nil {
		f.settle()
		f.total.add(f.audit)
	}
	f.dir = crashWorkspace(f.t)
	f.audit = newAudit(f.t, f.dir)
}

// settle has a server settle what the last one left.
func (f *faultRun) settle() {
	f.t.Helper()
	c, _ := f.server(f.after)
	c.kill()
}

// server starts a server whose first change has been made, and audits what it made of the last one's end.
func (f *faultRun) server(when string) (*child, string) {
	f.t.Helper()
	f.round++
	c := startChild(f.t, f.dir)
	id, err := begin(c, f.round)
	if err != nil {
		f.t.Fatalf("%s: %v\n%s", when, err, c.said())
	}
	f.audit.acknowledged[id] = true
	f.audit.check(when)
	selected := check.Value(c.call("select_active_intent", args{"intent_id": "W-1"}))(f.t)
	return c, selected.StructuredContent.Session
}

// patch creates, changes, moves and deletes a file in one call. What it needs is there because of an earlier call.
func (f *faultRun) patch(c *child, session string) (toolAnswer, error) {
	was := fmt.Sprintf("f/%d-", f.round)
	if _, err := os.Stat(filepath.Join(f.dir, was+"1")); err != nil {
		made, err := c.call("apply_patch", args{"session": session, "patch": patch(
			"*** Add File: "+was+"1", "+one", "*** Add File: "+was+"2", "+two", "*** Add File: "+was+"3", "+three")})
		if err != nil || made.IsError {
			return made, err
		}
		f.audit.acknowledged[made.StructuredContent.RecordID] = true
		return made, nil
	}
	return c.call("apply_patch", args{"session": session, "patch": patch(
		"*** Add File: "+was+"new", "+new",
		"*** Update File: "+was+"1", "@@", "-one", "+ONE",
		"*** Update File: "+was+"2", "*** Move to: "+was+"moved", "@@", "-two", "+TWO",
		"*** Delete File: "+was+"3")})
}

// discover lists the system calls that the patch makes.
func (f *faultRun) discover() []string {
	c, session := f.server("at the start")
	made, err := f.patch(c, session)
	check.Must(f.t, err == nil && !made.IsError, "%v %v", err, made)
	tracer := attach(f.t, c, "-e", "trace=all")
	if done, err := f.patch(c, session); err != nil || done.IsError {
		f.t.Fatal(err, done)
	} else {
		f.audit.acknowledged[done.StructuredContent.RecordID] = true
	}
	trace := tracer.detach()
	c.kill()
	var calls []string
	for _, m := range regexp.MustCompile(`(?m)^\d+ +(\w+)\(`).FindAllStringSubmatch(trace, -1) {
		if !slices.Contains(calls, m[1]) && !slices.Contains(passing, m[1]) {
			calls = append(calls, m[1])
		}
	}
	slices.Sort(calls)
	for _, call := range []string{"fsync", "fdatasync", "renameat2", "openat", "openat2", "pwrite64", "write", "unlinkat"} {
		check.Must(f.t, slices.Contains(calls, call), "the patch made no %s: %v", call, calls)
	}
	return calls
}

// inject lets one patch run under a fault, and audits what the next server makes of it. It reports whether the fault was met.
func (f *faultRun) inject(fault string) bool {
	f.t.Helper()
	c, session := f.server(f.after)
	if made, err := f.patch(c, session); err != nil || made.IsError {
		f.t.Fatal(err, made)
	}
	before := f.audit.files()
	call, _, _ := strings.Cut(fault, ":")
	tracer := attach(f.t, c, "-e", "trace="+call, "-e", "inject="+fault)
	result, err := f.patch(c, session)
	met := strings.Contains(tracer.detach(), "(INJECTED)") || c.ended()
	f.count(fault, before, result, err)
	if err == nil { // a server that lives serves on, or says why not
		after, err := c.call("write_to_file", args{"session": session, "path": fmt.Sprintf("f/%d-after", f.round), "content": "after\n"})
		switch {
		case err != nil:
		case !after.IsError:
			f.audit.acknowledged[after.StructuredContent.RecordID] = true
		case after.StructuredContent.ErrorType != "LEDGER_UNAVAILABLE":
			f.t.Errorf("%s: the next call was refused with %s: %s", fault, after.StructuredContent.ErrorType, after.StructuredContent.Error)
		}
	}
	c.kill()
	f.after = "after " + fault
	if met {
		f.injected++
	}
	return met
}

// count holds an answer to what the disk shows at once.
func (f *faultRun) count(fault string, before map[string]string, result toolAnswer, err error) {
	f.t.Helper()
	s := result.StructuredContent
	switch {
	case err != nil:
		f.unanswered++
	case !result.IsError:
		f.acknowledged++
		f.audit.acknowledged[s.RecordID] = true
	case s.Details.Changed != nil && *s.Details.Changed:
		f.standing++
	default:
		f.refused++
		after := f.audit.files()
		for path := range after {
			check.That(f.t, after[path] == before[path], "%s: refused with %s (%s), and yet %s is another file", fault, s.ErrorType, s.Error, path)
		}
		check.Equal(f.t, len(after), len(before), "%s: refused with %s (%s), and yet there are", fault, s.ErrorType, s.Error)
	}
}

// ended reports whether the server's process is gone.
func (c *child) ended() bool {
	select {
	case <-c.gone:
		return true
	case <-time.After(20 * time.Millisecond):
		return false
	}
}

// tracer is a strace that watches a running server.
type tracer struct {
	t   *testing.T
	cmd *exec.Cmd
	out string
}

func attach(t *testing.T, c *child, options ...string) *tracer {
	t.Helper()
	tr := &tracer{t: t, out: filepath.Join(t.TempDir(), "trace")}
	tr.cmd = exec.Command("strace", append([]string{"-f", "-o", tr.out, "-p", strconv.Itoa(c.cmd.Process.Pid)}, options...)...)
	said := check.Value(tr.cmd.StderrPipe())(t)
	check.OK(t, tr.cmd.Start())
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "attached") {
			go func() {
				for lines.Scan() {
				}
			}()
			return tr
		}
		t.Log(lines.Text())
	}
	t.Fatalf("strace did not attach: %v", tr.cmd.Wait())
	return nil
}

// detach ends the watching and gives what was seen.
func (tr *tracer) detach() string {
	tr.t.Helper()
	_ = tr.cmd.Process.Signal(syscall.SIGINT)
	// It can wait for ever for threads of a process that was killed under it.
	late := time.AfterFunc(300*time.Millisecond, func() { _ = tr.cmd.Process.Kill() })
	_ = tr.cmd.Wait()
	late.Stop()
	trace := check.Value(os.ReadFile(tr.out))(tr.t)
	return string(trace)
}

// allowTracing lets a strace that is not our parent watch us, where the system would not.
func allowTracing() {
	_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0) // PR_SET_PTRACER_ANY
}

// setAttribute reports whether the file system of the test takes one.
func setAttribute(t *testing.T, path string) bool {
	t.Helper()
	return unix.Setxattr(path, "user.orchestra.test", []byte("kept"), 0) == nil
}

func hasAttribute(t *testing.T, path string) bool {
	t.Helper()
	value := make([]byte, 16)
	n, err := unix.Getxattr(path, "user.orchestra.test", value)
	return err == nil && string(value[:n]) == "kept"
}
