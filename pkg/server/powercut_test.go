//go:build linux

package server_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/session"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// TestPowerCutLosesNothing records with strace what a server does to its disk while it creates, overwrites, edits,
// deletes, moves and patches files. Then it cuts the power, in each model of what a disk keeps of what was not flushed,
// starts a server on what is left, and holds the files against the ledger.
//
// It cuts after every seventeenth operation, in each model after others, and keeps the two extremes and something between.
// ORCHESTRA_LONG=1 cuts after each and tries many more disks, under the race detector it is every fortieth.
func TestPowerCutLosesNothing(t *testing.T) {
	t.Parallel()
	check.Needs(t, "strace")
	perCut, every := check.Rounds(2, 60), check.Rounds(17, 1)
	if check.Short() {
		every = 40
	}
	dir := crashWorkspace(t)
	start := newAudit(t, dir).start
	disk := newCutDisk(t, dir)
	recordUnderStrace(t, dir, disk)
	place, err := os.MkdirTemp("/dev/shm", "orchestra-test-") // a file system in memory, if there is one
	if err != nil {
		place = t.TempDir()
	}
	defer os.RemoveAll(place)
	for i, m := range cutModels {
		t.Run(m.name, func(t *testing.T) {
			run := &cutRun{t: t, disk: disk, model: m, start: start, seen: map[cutLook]bool{}, place: place}
			dice := rand.New(rand.NewPCG(12, 26))
			for n := i % every; n <= len(disk.ops); n += every {
				for k, s := range disk.states(n, m, perCut, dice) {
					run.check(n, k, s)
				}
			}
			t.Logf("%d operations on the disk, %d different disks after a cut, %d acknowledged mutations to be found on them, %d recovered (%d probable, %d partial)",
				len(disk.ops), len(run.seen), run.acknowledged, run.total.recovered, run.total.probable, run.partial)
			check.That(t, len(run.seen) >= len(disk.ops)/2/every && run.acknowledged != 0 && run.total.recovered != 0, "too little was tried")
		})
	}
}

// recordUnderStrace lets a server work under strace.
func recordUnderStrace(t *testing.T, dir string, disk *cutDisk) {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	c := startChild(t, dir, "strace", "-f", "-xx", "-s", "16777216", "-e", cutCalls, "-e", "signal=none", "-o", trace)
	if _, err := begin(c, 0); err != nil {
		t.Fatal(err, c.said())
	}
	var callers sync.WaitGroup
	for k := range 2 {
		callers.Go(func() {
			if err := recordCaller(c, k); err != nil {
				t.Errorf("caller %d: %v\n%s", k, err, c.said())
			}
		})
	}
	callers.Wait()
	check.OK(t, c.end())
	text := check.Value(os.ReadFile(trace))(t)
	tr := &cutTrace{disk: disk, root: dir, fds: map[int]*cutFile{}, open: map[string]unfinished{}}
	check.OK(t, tr.read(string(text)))
	// What was recorded must lead to what is there.
	all := disk.states(len(disk.ops), cutModel{}, 2, rand.New(rand.NewPCG(1, 1)))
	have, want := disk.digest(all[len(all)-1]), [sha256.Size]byte{}
	now := newCutDisk(t, dir)
	want = now.digest(cutState{names: now.names})
	check.Must(t, have == want, "the recorded operations do not lead to the files that are there")
}

// recordCaller makes a change of each kind.
func recordCaller(c *child, k int) error {
	selected, err := c.call("select_active_intent", args{"intent_id": fmt.Sprintf("W-%d", k)})
	if err != nil {
		return err
	}
	in := fmt.Sprintf("new/%d/", k)
	for _, step := range []struct {
		tool string
		args args
	}{
		{"write_to_file", args{"path": in + "deep/a", "content": "a\n"}},
		{"write_to_file", args{"path": in + "deep/a", "content": long("overwritten")}},
		{"edit_file", args{"path": in + "deep/a", "old_string": "overwritten 7\n", "new_string": "edited\n"}},
		{"apply_patch", args{"patch": patch("*** Add File: "+in+"b", "+b", "*** Add File: "+in+"c", "+c", "*** Add File: "+in+"d", "+d")}},
		{"apply_patch", args{"patch": patch("*** Update File: "+in+"b", "*** Move to: "+in+"moved/b")}},
		{"apply_patch", args{"patch": patch("*** Update File: "+in+"c", "*** Move to: "+in+"c2", "@@", "-c", "+C")}},
		{"apply_patch", args{"patch": patch(
			"*** Add File: "+in+"e/e", "+e",
			"*** Update File: "+in+"deep/a", "@@", "-edited", "+patched",
			"*** Update File: "+in+"c2", "*** Move to: "+in+"f/c3", "@@", "-C", "+c",
			"*** Delete File: "+in+"d")}},
		{"apply_patch", args{"patch": patch("*** Delete File: " + in + "deep/a")}},
	} {
		step.args["session"] = selected.StructuredContent.Session
		if result, err := c.call(step.tool, step.args); err != nil || result.IsError {
			return fmt.Errorf("%s %v: %v %+v", step.tool, step.args, err, result)
		}
	}
	return nil
}

func long(word string) string {
	text := ""
	for i := range 400 {
		text += fmt.Sprintf("%s %d\n", word, i)
	}
	return text
}

type cutRun struct {
	t     *testing.T
	disk  *cutDisk
	model cutModel
	start map[string]string
	seen  map[cutLook]bool
	place string // for the disks
	total crashTotals

	acknowledged, partial int
}

// cutLook is what tells two cuts apart.
type cutLook struct {
	disk  [sha256.Size]byte
	acked int
}

// check starts a server on one disk, lets it make a change, and audits.
func (r *cutRun) check(n, k int, s cutState) {
	r.t.Helper()
	acked := r.disk.acked(n)
	look := cutLook{r.disk.digest(s), len(acked)}
	if r.seen[look] {
		return
	}
	r.seen[look] = true
	dir := check.Value(os.MkdirTemp(r.place, "disk"))(r.t)
	defer os.RemoveAll(dir)
	r.disk.build(r.t, s, dir)
	when := fmt.Sprintf("power cut after operation %d, disk %d", n, k)
	a := &audit{t: r.t, dir: dir, start: r.start, acknowledged: map[string]bool{}, afterCut: true}
	for _, id := range acked {
		a.acknowledged[id] = true
	}
	r.acknowledged += len(a.acknowledged)
	r.restart(when, dir)
	defer func() {
		if r.t.Failed() {
			r.t.Log(r.disk.story(n, s))
		}
	}()
	a.check(when)
	r.total.add(a)
	r.partial += a.partial
}

// restart makes one change, before which the server settles.
func (r *cutRun) restart(when, dir string) {
	r.t.Helper()
	o := server.Options{Dir: dir, Settings: settings.Defaults(), Logger: zerolog.Nop()}
	o.Settings.Durability = settings.OS // nobody cuts the power of this one
	srv, err := server.New(o)
	check.Must(r.t, err == nil, "%s: %v", when, err)
	defer srv.Close()
	caller := session.Caller{Connection: "test"}
	for _, c := range []struct{ tool, arguments string }{
		{"select_active_intent", `{"intent_id":"W-0"}`},
		{"write_to_file", `{"path":"begin/after.txt","content":"after\n"}`},
	} {
		result := srv.Do(context.Background(), hooks.Request{Tool: c.tool, Caller: caller, Arguments: hooks.ReadArguments([]byte(c.arguments))})
		check.Must(r.t, !result.IsError, "%s: %s: %s", when, c.tool, result.Text)
	}
}
