//go:build unix

package server_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/ledgertest"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

const (
	crashCallers    = 8
	killsPerLedger  = 30
	longestLife     = 150 * time.Millisecond
	killedAtStart   = 4 // one in so many is killed while it settles
	startupLifetime = 25 * time.Millisecond
)

// TestKilledServerLosesNothing kills a server with SIGKILL at random moments while eight callers create, overwrite,
// edit, delete and move files, patch several at once, and run commands that do the like. After each kill the next
// server settles, and the ledger must tell exactly what the disk shows.
//
// In the long form it kills 300 times.
func TestKilledServerLosesNothing(t *testing.T) {
	t.Parallel()
	kills := check.Rounds(10, 300)
	var total crashTotals
	t.Run("ledgers", func(t *testing.T) {
		for done := 0; done < kills; done += killsPerLedger {
			t.Run(fmt.Sprint(done), func(t *testing.T) {
				t.Parallel()
				total.add(killServers(t, min(killsPerLedger, kills-done)))
			})
		}
	})
	t.Logf("%d kills: %d mutations acknowledged, %d records, %d recovered (%d of them probable), %d archives",
		kills, total.acknowledged, total.records, total.recovered, total.probable, total.archives)
	check.That(t, total.acknowledged != 0 && total.archives != 0, "no call was acknowledged, or the ledger was never rotated: the test tests nothing")
}

type crashTotals struct {
	mu                                                              sync.Mutex
	acknowledged, records, recovered, probable, leftovers, archives int
}

func (c *crashTotals) add(a *audit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acknowledged += len(a.acknowledged)
	c.records += a.records
	c.recovered += a.recovered
	c.probable += a.probable
	c.leftovers += a.leftovers
	archives, _ := filepath.Glob(filepath.Join(ledgertest.Home(a.dir), "archive/*.zst"))
	c.archives += len(archives)
}

// crashWorkspace has an intent for each caller, so that each has a session.
func crashWorkspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	intents := "active_intents:\n"
	shared := ""
	for k := range crashCallers {
		intents += fmt.Sprintf("  - {id: W-%d, name: Caller %d, status: IN_PROGRESS, owned_scope: [\"**\"]}\n", k, k)
		shared += fmt.Sprintf("caller %d: 0.\n", k)
		check.Write(t, dir, fmt.Sprintf("w%d/first.txt", k), "first\n")
	}
	check.Write(t, dir, ".orchestration/active_intents.yaml", intents)
	check.Write(t, dir, "shared.txt", shared)
	check.Repository(t, dir)
	return dir
}

// apart gives each intent a scope of its own: of what two commands could both have changed nobody can tell which one did.
func apart(t *testing.T, dir string) {
	t.Helper()
	intents := "active_intents:\n"
	for k := range crashCallers {
		intents += fmt.Sprintf("  - {id: W-%d, name: Caller %d, status: IN_PROGRESS, owned_scope: [\"w%d/**\", shared.txt, \"begin/**\"]}\n", k, k, k)
	}
	check.Write(t, dir, ".orchestration/active_intents.yaml", intents)
}

// killServers kills servers of one workspace one after the other.
func killServers(t *testing.T, kills int) *audit {
	dir := crashWorkspace(t)
	apart(t, dir)
	a := newAudit(t, dir)
	for kill := 0; kill < kills; kill++ {
		c := startChild(t, dir)
		if rand.N(killedAtStart) == 0 {
			time.AfterFunc(rand.N(startupLifetime)+5*time.Millisecond, c.kill)
			_, _ = begin(c, kill)
			c.kill()
			continue
		}
		settled, err := begin(c, kill)
		if err != nil {
			t.Fatalf("kill %d: %v\n%s", kill, err, c.said())
		}
		a.acknowledged[settled] = true
		a.check(fmt.Sprintf("after kill %d", kill))
		a.work(c, kill)
	}
	c := startChild(t, dir)
	settled := check.Value(begin(c, kills))(t)
	a.acknowledged[settled] = true
	a.check("at the end")
	check.OK(t, c.end())
	named, kept := keptImages(t, dir, record.KindRecovered)
	check.That(t, kept == named, "of %d contents of recovered mutations %d are kept", named, kept)
	left, _ := filepath.Glob(filepath.Join(dir, ".orchestration/state/inflight/*.entry"))
	check.That(t, len(left) == 0, "a server that ended in order left %v", left)
	return a
}

// begin makes the first change of a server, which settles what the one before it left.
func begin(c *child, kill int) (recordID string, err error) {
	if err := c.greet(); err != nil {
		return "", err
	}
	selected, err := c.call("select_active_intent", args{"intent_id": "W-0"})
	if err != nil {
		return "", err
	}
	path := fmt.Sprintf("begin/%d.txt", kill)
	result, err := c.call("write_to_file", args{"session": selected.StructuredContent.Session, "path": path, "content": "settled\n"})
	if err == nil && result.IsError {
		err = fmt.Errorf("the first change was refused: %s", result.StructuredContent.Error)
	}
	return result.StructuredContent.RecordID, err
}

// work lets all callers work on a server until it is killed.
func (a *audit) work(c *child, kill int) {
	var callers sync.WaitGroup
	var mu sync.Mutex
	var started sync.WaitGroup
	started.Add(crashCallers)
	for k := range crashCallers {
		callers.Go(func() {
			w := &caller{audit: a, c: c, k: k, mu: &mu}
			selected, err := c.call("select_active_intent", args{"intent_id": fmt.Sprintf("W-%d", k)})
			started.Done()
			w.session = selected.StructuredContent.Session
			for n := 0; err == nil; n++ {
				err = w.step(fmt.Sprintf("%d-%d", kill, n))
			}
			check.That(a.t, err == errKilled, "%v", err)
		})
	}
	started.Wait()
	time.Sleep(rand.N(longestLife))
	c.kill()
	callers.Wait()
}

// caller is one agent in its own directory, and in a file that all share.
type caller struct {
	*audit
	c       *child
	k       int
	session string
	mu      *sync.Mutex // guards audit.acknowledged
}

// step makes one call of a random kind.
func (w *caller) step(name string) error {
	home := fmt.Sprintf("w%d", w.k)
	fresh := home + "/" + name + ".txt"
	content := "head of " + name + "\n" + strings.Repeat("line of "+name+"\n", rand.N(40))
	files := w.mine(home)
	one, other := "", ""
	if len(files) > 0 {
		one = files[rand.N(len(files))]
	}
	if i := slices.IndexFunc(files, func(f string) bool { return f != one }); i >= 0 {
		other = files[i]
	}
	switch kind := rand.N(10); {
	case kind == 0 || one == "" || other == "":
		return w.call("write_to_file", args{"path": fresh, "content": content})
	case kind == 1:
		return w.call("write_to_file", args{"path": one, "content": content, "expected_content_hash": w.hash(one)})
	case kind == 2:
		return w.call("edit_file", args{"path": one, "old_string": w.firstLine(one) + "\n", "new_string": "edited in " + name + "\n", "expected_replacements": 1})
	case kind == 3:
		return w.call("apply_patch", args{"patch": patch("*** Delete File: " + one)})
	case kind == 4:
		return w.call("apply_patch", args{"patch": patch("*** Update File: "+one, "*** Move to: "+fresh, "@@", "-"+w.firstLine(one), "+moved in "+name)})
	case kind >= 7:
		return w.call("execute_command", args{"command": commandLine(rand.N(6), name, home, fresh, one, other)})
	case kind == 5:
		line := w.line("shared.txt", w.k)
		return w.call("edit_file", args{"path": "shared.txt", "old_string": line, "new_string": fmt.Sprintf("caller %d: %s.", w.k, name)})
	}
	return w.call("apply_patch", args{"patch": patch(
		"*** Add File: "+fresh, "+added in "+name,
		"*** Update File: "+one, "@@", "-"+w.firstLine(one), "+patched in "+name,
		"*** Delete File: "+other,
	)})
}

// commandLine is a command of a random kind. No process of it outlives its shell, which dies with its server.
func commandLine(kind int, name, home, fresh, one, other string) string {
	switch kind {
	case 0:
		return fmt.Sprintf("printf 'by command %s\\n' >> %s", name, one)
	case 1:
		return fmt.Sprintf("exec sed -i '1s/^/s %s /' %s", name, one)
	case 2:
		return fmt.Sprintf("exec mv %s %s", one, fresh)
	case 3:
		return fmt.Sprintf("exec rm %s %s", one, other)
	case 4:
		return fmt.Sprintf("for i in 1 2 3 4 5; do echo \"loop %s $i\" > %s/%s.$i; done", name, home, name)
	}
	return fmt.Sprintf("echo new > %s; echo changed by %s > %s; exec mv %s %s.moved", fresh, name, one, other, fresh)
}

// call notes what is acknowledged. Refusals are fine where callers meet, but none that speaks of a fault.
func (w *caller) call(tool string, arguments args) error {
	arguments["session"] = w.session
	result, err := w.c.call(tool, arguments)
	if err != nil {
		return err
	}
	s := result.StructuredContent
	switch {
	case !result.IsError:
		w.mu.Lock()
		w.acknowledged[s.RecordID] = true
		w.mu.Unlock()
	case s.ErrorType == "COMMAND_OUT_OF_SCOPE":
		return fmt.Errorf("%v: %s", arguments, s.Error)
	case !slices.Contains([]string{"STALE_FILE", "READ_REQUIRED", "BUSY", "DIFF_NOT_APPLIED", "AMBIGUOUS_MATCH"}, s.ErrorType):
		return fmt.Errorf("%s %v: %s: %s", tool, arguments, s.ErrorType, s.Error)
	}
	return nil
}

func (w *caller) mine(home string) []string {
	entries, _ := os.ReadDir(filepath.Join(w.dir, home))
	var files []string
	for _, e := range entries {
		if !workspace.IsTemp(e.Name()) {
			files = append(files, home+"/"+e.Name())
		}
	}
	return files
}

func (w *caller) content(path string) []byte {
	content, _ := os.ReadFile(filepath.Join(w.dir, path))
	return content
}

func (w *caller) hash(path string) string { return string(workspace.HashOf(w.content(path))) }

func (w *caller) firstLine(path string) string { return w.line(path, 0) }

func (w *caller) line(path string, n int) string {
	lines := strings.Split(string(w.content(path)), "\n")
	if n >= len(lines) {
		return "no such line"
	}
	return lines[n]
}
