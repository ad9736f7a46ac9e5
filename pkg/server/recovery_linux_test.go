package server_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
)

// TestFailedFlushIsRetracted lets the ledger's flush fail after the line was
// written. The mutation is taken back; when the disk is in order again, the
// same server reopens the ledger, finds the line there and retracts it.
func TestFailedFlushIsRetracted(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	c, session := f.server("at the start")
	made, err := c.call("write_to_file", args{"session": session, "path": "f/a", "content": "one\ntwo\n"})
	if err != nil || made.IsError {
		t.Fatal(err, made)
	}
	f.audit.acknowledged[made.StructuredContent.RecordID] = true
	ledgerFile := ledgertest.File(f.dir)
	tracer := attach(t, c, "-P", ledgerFile, "-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO")
	for range 2 { // the second finds a ledger that cannot be reopened
		refused, err := c.call("write_to_file", args{"session": session, "path": "f/a", "content": "three\n"})
		s := refused.StructuredContent
		if err != nil || s.ErrorType != "LEDGER_UNAVAILABLE" || s.Details.Changed != nil && *s.Details.Changed {
			t.Fatalf("a failed flush: %v %+v", err, refused)
		}
		if content, _ := os.ReadFile(filepath.Join(f.dir, "f/a")); string(content) != "one\ntwo\n" {
			t.Fatalf("the file was not put back: %q", content)
		}
	}
	if trace := tracer.detach(); !strings.Contains(trace, "(INJECTED)") {
		t.Fatalf("nothing was injected: %s", trace)
	}
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
	if _, err := exec.LookPath("strace"); err != nil && os.Getenv("CI") != "" {
		t.Fatal("strace is not installed")
	} else if err != nil {
		t.Skip("strace is not installed")
	}
	f := &faultRun{t: t}
	f.renew()
	return f
}

// wantRetraction demands a record, and one that retracts it, and that blame
// gives the lines to the records that stand.
func (f *faultRun) wantRetraction(path string, lines ...string) {
	f.t.Helper()
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		f.t.Fatal(err)
	}
	defer root.Close()
	l, err := ledger.Open(root, ledger.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	defer l.Close(context.Background())
	found, err := l.Query(context.Background(), ledger.Filter{})
	if err != nil {
		f.t.Fatal(err)
	}
	ids, retracted := map[string]bool{}, ""
	for _, e := range found.Entries {
		ids[e.ID] = true
		if of, ok := e.Detail["retracts"].(string); ok {
			if !ids[of] || retracted != "" {
				f.t.Errorf("%s retracts %q, which is not before it, or twice", e.ID, of)
			}
			retracted = of
		}
	}
	if retracted == "" {
		f.t.Error("no record retracts the line that was written before its flush failed")
	}
	blamed, err := blame.Workspace{Root: root, Ledger: l}.File(context.Background(), path)
	if err != nil {
		f.t.Fatal(err)
	}
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
	if f.audit.leftovers > 0 {
		t.Errorf("%d temporary files are left", f.audit.leftovers)
	}
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
		if time.Now().After(deadline) {
			t.Fatal("the command outlived its server")
		}
	}
	next, _ := f.server("after the kill")
	next.kill()
	if f.audit.recovered != 1 || f.audit.probable != 1 {
		t.Errorf("%d recovered, %d of them probable; want the command", f.audit.recovered, f.audit.probable)
	}
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
