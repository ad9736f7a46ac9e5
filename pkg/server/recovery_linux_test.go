package server_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// TestFailedFlushIsRetracted lets the ledger's flush fail after the line was written. The mutation is taken back; when
// the disk is in order again, the same server reopens the ledger, finds the line there and retracts it.
func TestFailedFlushIsRetracted(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	c, session := f.server("at the start")
	made, err := c.call("write_to_file", args{"session": session, "path": "f/a", "content": "one\ntwo\n"})
	check.Must(t, err == nil && !made.IsError, "%v %v", err, made)
	f.audit.acknowledged[made.StructuredContent.RecordID] = true
	ledgerFile := ledgertest.File(f.dir)
	tracer := attach(t, c, "-P", ledgerFile, "-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO")
	for range 2 { // the second finds a ledger that cannot be reopened
		refused, err := c.call("write_to_file", args{"session": session, "path": "f/a", "content": "three\n"})
		s := refused.StructuredContent
		check.Must(t, err == nil && s.ErrorType == "LEDGER_UNAVAILABLE" && (s.Details.Changed == nil || !(*s.Details.Changed)),
			"a failed flush: %v %+v", err, refused)
		content, _ := os.ReadFile(filepath.Join(f.dir, "f/a"))
		check.Must(t, string(content) == "one\ntwo\n", "the file was not put back: %q", content)
	}
	trace := tracer.detach()
	check.Must(t, strings.Contains(trace, "(INJECTED)"), "nothing was injected: %s", trace)
	again, err := c.call("edit_file", args{"session": session, "path": "f/a", "old_string": "two\n", "new_string": "2\n"})
	if err != nil || again.IsError {
		t.Fatalf("the disk is in order again: %v %+v\n%s", err, again, c.said())
	}
	f.audit.acknowledged[again.StructuredContent.RecordID] = true
	f.audit.check("after the failed flush")
	c.kill()
	f.wantRetraction("f/a", made.StructuredContent.RecordID, again.StructuredContent.RecordID)
}

func newFaulty(t *testing.T) *faultRun {
	t.Helper()
	check.Needs(t, "strace")
	f := &faultRun{t: t}
	f.renew()
	return f
}

// wantRetraction demands a record, and one that retracts it, and that blame gives the lines to the records that stand.
func (f *faultRun) wantRetraction(path string, lines ...string) {
	f.t.Helper()
	root := check.Value(os.OpenRoot(f.dir))(f.t)
	defer root.Close()
	l := check.Value(ledger.Open(root, ledger.Options{}))(f.t)
	defer l.Close(context.Background())
	found := check.Value(l.Query(context.Background(), record.Filter{}))(f.t)
	ids, retracted := map[string]bool{}, ""
	for _, e := range found.Entries {
		ids[e.ID] = true
		if of, ok := e.Detail["retracts"].(string); ok {
			check.That(f.t, ids[of] && retracted == "", "%s retracts %q, which is not before it, or twice", e.ID, of)
			retracted = of
		}
	}
	check.That(f.t, retracted != "", "no record retracts the line that was written before its flush failed")
	blamed := check.Value(blame.Workspace{Root: root, Ledger: l}.File(context.Background(), path))(f.t)
	for i, line := range blamed.Lines {
		if line.Record == nil || line.Record.ID != lines[i] {
			f.t.Errorf("line %d is blamed on %+v, not on %s", i+1, line.Record, lines[i])
		}
	}
}

// TestOtherServerSettles: of two servers on one workspace one is killed in the
// middle of a change. The other settles it before its own next change.
func TestOtherServerSettles(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	lives, its := f.server("at the start")
	killed, session := f.server("with another")
	if made, err := f.patch(killed, session); err != nil || made.IsError {
		t.Fatal(err, made)
	}
	attach(t, killed, "-e", "trace=renameat2", "-e", "inject=renameat2:signal=SIGKILL:when=2")
	if result, err := f.patch(killed, session); err == nil {
		t.Fatalf("answered although it was to be killed: %+v", result)
	}
	after, err := lives.call("write_to_file", args{"session": its, "path": "f/after", "content": "after\n"})
	if err != nil || after.IsError {
		t.Fatalf("the other server: %v %+v\n%s", err, after, lives.said())
	}
	f.audit.acknowledged[after.StructuredContent.RecordID] = true
	f.audit.check("after the other settled")
	check.That(t, f.audit.leftovers == 0, "%d temporary files are left", f.audit.leftovers)
	lives.kill()
	killed.kill()
}

// TestKilledCommand: a server is killed while a command runs. The next one
// records it as far as it can be known, and the command is no more.
func TestKilledCommand(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	c, session := f.server("at the start")
	mark := filepath.Base(t.TempDir()) + fmt.Sprint(os.Getpid())
	go c.call("execute_command", args{"session": session, "command": ": " + mark + "; while :; do sleep 0.01; done"})
	var pid string
	for deadline := time.Now().Add(answerTime); pid == "" && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		pid = running(mark)
	}
	if pid == "" {
		t.Fatalf("the command did not start\n%s", c.said())
	}
	c.kill()
	for deadline := time.Now().Add(answerTime); runs(pid); time.Sleep(time.Millisecond) {
		check.Must(t, !time.Now().After(deadline), "the command outlived its server")
	}
	next, _ := f.server("after the kill")
	next.kill()
	check.That(t, f.audit.recovered == 1 && f.audit.probable == 1,
		"%d recovered, %d of them probable; want the command", f.audit.recovered, f.audit.probable)
}

// runs reports whether a process is there and no zombie.
func runs(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// running returns the process with a mark in its command line, "" for none.
func running(mark string) string {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		if line, err := os.ReadFile(name); err == nil && strings.Contains(string(line), mark) {
			return filepath.Base(filepath.Dir(name))
		}
	}
	return ""
}

// It ends with its intent, however that ends, and with the server; both ends are recorded.
func TestBackgroundEndsWithItsIntentAndTheServer(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b := start(t, dir, func(o *server.Options) { o.Settings.Sandbox = settings.Off }).connect() // process ids are those of the test
	one, two := b.Selects("INT-001"), b.Selects("INT-005")
	mark := filepath.Base(dir) + strconv.Itoa(os.Getpid())
	gone := func(name string) func() bool {
		return func() bool { return running(mark+name) == "" }
	}
	for name, session := range map[string]string{"one": one, "two": two} {
		b.OK("execute_command", args{"session": session, "command": ": " + mark + name + "; sleep 100; :", "background": true})
		b.eventually("the command runs", func() bool { return !gone(name)() })
	}
	check.Write(t, dir, ".orchestration/active_intents.yaml", strings.Replace(intentsYAML, "IN_PROGRESS", "BLOCKED", 1))
	b.eventually("the command of the blocked intent ends", gone("one"))
	check.That(t, !gone("two")(), "the other intent's command has ended too")
	b.close()
	check.That(t, gone("two")(), "a command outlives the server")
	records := strings.Join(fileLines(t, dir), "\n")
	for _, want := range []string{`"ended_by":"its intent INT-001 is BLOCKED"`, `"ended_by":"ended with the server"`} {
		check.That(t, strings.Contains(records, want), "no record has %s:\n%s", want, records)
	}
}

// TestEndGivesDescriptorsBack: a program that serves one workspace after the other keeps none of the kernel's notices, of which
// a user has few, nor a saved state. It does not run beside other tests, which have their own.
func TestEndGivesDescriptorsBack(t *testing.T) {
	dir := newWorkspace(t)
	held := func() (all []string) {
		for _, fd := range check.Value(os.ReadDir("/proc/self/fd"))(t) {
			to, _ := os.Readlink("/proc/self/fd/" + fd.Name())
			if to == "anon_inode:inotify" || strings.HasSuffix(to, "/mountinfo") || strings.HasPrefix(to, dir+"/.orchestration/state/snapshots/") {
				all = append(all, to)
			}
		}
		return all
	}
	before := held()
	b := start(t, dir, direct).connect()
	b.OK("execute_command", args{"session": b.Selects("INT-001"), "command": "echo x > src/x"})
	check.That(t, len(held()) > len(before), "nothing was held while it served")
	b.hangUp()
	b.close()
	check.Equal(t, strings.Join(held(), "\n"), strings.Join(before, "\n"))
	saved := check.Value(os.ReadDir(filepath.Join(dir, ".orchestration/state/snapshots")))(t)
	check.That(t, len(saved) == 0, "saved states are left: %v", saved)
}

// TestFewFiles gives a running server fewer and fewer files that it may have open. Each call then succeeds or is told
// to try again, and when there are enough again, all goes on.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	f := &faultRun{t: t}
	f.renew()
	c, session := f.server("at the start")
	var usual unix.Rlimit
	check.OK(t, unix.Prlimit(c.cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &usual))
	codes := map[string]int{}
	for limit := uint64(4); limit < 60; limit++ {
		few := unix.Rlimit{Cur: limit, Max: usual.Max}
		check.OK(t, unix.Prlimit(c.cmd.Process.Pid, unix.RLIMIT_NOFILE, &few, nil))
		a, err := c.call("write_to_file", args{"session": session, "path": fmt.Sprintf("f/%d", limit), "content": "x\n"})
		if err != nil {
			t.Fatal(err, c.said())
		}
		switch s := a.StructuredContent; {
		case !a.IsError:
			f.audit.acknowledged[s.RecordID] = true
			codes["done"]++
		case s.ErrorType != "BUSY":
			t.Errorf("with %d files: %s: %s", limit, s.ErrorType, s.Error)
		default:
			codes[s.ErrorType]++
		}
	}
	check.That(t, codes["BUSY"] != 0 && codes["done"] != 0, "%v: nothing was tried", codes)
	check.OK(t, unix.Prlimit(c.cmd.Process.Pid, unix.RLIMIT_NOFILE, &usual, nil))
	a, err := c.call("write_to_file", args{"session": session, "path": "f/after", "content": "x\n"})
	check.Must(t, err == nil && !a.IsError, "%v %v", err, a)
	f.audit.acknowledged[a.StructuredContent.RecordID] = true
	f.audit.gapsMeant = true
	f.audit.check("with enough files again")
	c.kill()
}
