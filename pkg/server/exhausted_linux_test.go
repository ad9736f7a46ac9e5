package server_test

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFewFiles gives a running server fewer and fewer files that it may have
// open. Each call then succeeds or is told to try again, and when there are
// enough again, all goes on.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	f := &faultRun{t: t}
	f.renew()
	c, session := f.server("at the start")
	var usual unix.Rlimit
	if err := unix.Prlimit(c.cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &usual); err != nil {
		t.Fatal(err)
	}
	codes := map[string]int{}
	for limit := uint64(4); limit < 60; limit++ {
		few := unix.Rlimit{Cur: limit, Max: usual.Max}
		if err := unix.Prlimit(c.cmd.Process.Pid, unix.RLIMIT_NOFILE, &few, nil); err != nil {
			t.Fatal(err)
		}
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
	if codes["BUSY"] == 0 || codes["done"] == 0 {
		t.Errorf("%v: nothing was tried", codes)
	}
	if err := unix.Prlimit(c.cmd.Process.Pid, unix.RLIMIT_NOFILE, &usual, nil); err != nil {
		t.Fatal(err)
	}
	a, err := c.call("write_to_file", args{"session": session, "path": "f/after", "content": "x\n"})
	if err != nil || a.IsError {
		t.Fatal(err, a)
	}
	f.audit.acknowledged[a.StructuredContent.RecordID] = true
	f.audit.gapsMeant = true
	f.audit.check("with enough files again")
	c.kill()
}
