package journal_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
)

// open gives a process's journal in a state directory.
func open(t *testing.T, dir string) *journal.Journal {
	t.Helper()
	j := journal.Open(journal.Options{State: func() (*os.Root, error) { return os.OpenRoot(dir) }, Durable: true})
	t.Cleanup(func() { check.OK(t, j.Close()) })
	return j
}

func entryOf(path string) journal.Entry {
	return journal.Entry{
		Began: time.Date(2026, 2, 18, 18, 30, 0, 0, time.UTC),
		Files: []change.Planned{{
			Change: change.Change{
				Op: change.Modified, Path: path, Before: change.Version{Hash: "sha256:b"}, After: change.Version{Hash: "sha256:a"},
			},
			Temp: ".orchestra-x.tmp",
		}},
		Lines: [][]byte{[]byte(`{"prev":[],"id":"1"}`), []byte(`{"prev":[],"id":"2"}`)},
	}
}

// orphans takes over what other processes left.
func orphans(t *testing.T, j *journal.Journal) []*journal.Orphan {
	t.Helper()
	return check.Value(j.Orphans())(t)
}

func slots(t *testing.T, dir string) []string {
	t.Helper()
	names := check.Value(filepath.Glob(filepath.Join(dir, "inflight", "*")))(t)
	return slices.DeleteFunc(names, func(name string) bool { return filepath.Base(name) == "lock" })
}

func TestEntryOfALivingProcessIsItsOwn(t *testing.T) {
	dir := t.TempDir()
	one, other := open(t, dir), open(t, dir)
	f := check.Value(one.Begin(entryOf("a")))(t)
	check.Equal(t, len(orphans(t, other)), 0, "another process took")
	check.Equal(t, len(orphans(t, one)), 0, "the process took its own entry")
	f.Done()
	check.Equal(t, len(orphans(t, other)), 0, "an ended entry was taken")
}

func TestEntryOfADeadProcessIsTakenOnce(t *testing.T) {
	dir := t.TempDir()
	one, other, third := open(t, dir), open(t, dir), open(t, dir)
	f := check.Value(one.Begin(entryOf("a")))(t)
	f.Abandon()
	found := orphans(t, other)
	check.Equal(t, len(found), 1, "orphans")
	want := entryOf("a")
	want.PID, want.Place = os.Getpid(), found[0].Place
	check.That(t, reflect.DeepEqual(found[0].Entry, want) && !found[0].Doubt, "got %+v, want %+v", found[0].Entry, want)
	again, err := third.Orphans()
	check.That(t, errors.Is(err, journal.ErrSettling) && len(again) == 0, "a third process got %v, %v while the second settles", again, err)
	found[0].Release()
	found = orphans(t, third)
	check.Equal(t, len(found), 1, "entries after one was given back")
	check.OK(t, found[0].Drop())
	left := slots(t, dir)
	check.That(t, len(left) == 0, "left %v", left)
}

// TestNobodyOverlooksWhatAnotherTakes: of several who look at once, one has the entry and all others know.
func TestNobodyOverlooksWhatAnotherTakes(t *testing.T) {
	dir := t.TempDir()
	one := open(t, dir)
	var others []*journal.Journal
	for range 4 {
		others = append(others, open(t, dir))
	}
	for range 100 {
		f := check.Value(one.Begin(entryOf("a")))(t)
		f.Leave()
		taken := make([][]*journal.Orphan, len(others))
		errs := make([]error, len(others))
		var all sync.WaitGroup
		for i, j := range others {
			all.Go(func() { taken[i], errs[i] = j.Orphans() })
		}
		all.Wait()
		var found []*journal.Orphan
		for i := range others {
			found = append(found, taken[i]...)
			if len(taken[i]) == 0 && !errors.Is(errs[i], journal.ErrSettling) {
				t.Fatalf("one of them saw nothing: %v", errs[i])
			}
		}
		check.Equal(t, len(found), 1, "those that have it")
		found[0].Release()
		again := orphans(t, others[0])
		check.Equal(t, len(again), 1, "entries after one was given back")
		check.OK(t, again[0].Drop())
	}
}

func TestDoubtIsKept(t *testing.T) {
	dir := t.TempDir()
	one := open(t, dir)
	f := check.Value(one.Begin(entryOf("a")))(t)
	check.OK(t, f.Doubt())
	f.Leave()
	found := orphans(t, one) // the process itself settles what it gave up
	check.Must(t, len(found) == 1 && found[0].Doubt, "%+v", found)
	check.OK(t, found[0].Drop())
}

func TestSlotsAreUsedAgain(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	for range 5 {
		f, err := j.Begin(entryOf("a"))
		check.OK(t, err)
		f.Done()
		f, err = j.Begin(entryOf("a"))
		check.OK(t, err)
		f.Void()
	}
	check.Equal(t, len(slots(t, dir)), 1, "files")
	check.OK(t, os.RemoveAll(filepath.Join(dir, "inflight")))
	f := check.Value(j.Begin(entryOf("b")))(t)
	check.Equal(t, len(slots(t, dir)), 1, "files after the directory was deleted")
	f.Done()
	check.OK(t, j.Close())
	left := slots(t, dir)
	check.That(t, len(left) == 0, "Close left %v", left)
	check.Fails(j.Begin(entryOf("c")))(t, journal.ErrClosed)
}

// An entry that was not written to its end is no entry, at whichever byte the writing stopped.
func TestTornEntryIsSetAside(t *testing.T) {
	dir := t.TempDir()
	whole := open(t, dir)
	f := check.Value(whole.Begin(entryOf("a")))(t)
	content := check.Value(os.ReadFile(slots(t, dir)[0]))(t)
	f.Done()
	last := len(content)
	for last > 0 && content[last-1] == 0 {
		last--
	}
	for cut := range last {
		torn := t.TempDir()
		check.Write(t, torn, "inflight/x.entry", string(content[:cut]))
		check.Equal(t, len(orphans(t, open(t, torn))), 0, "cut at %d of %d bytes it was taken", cut, last)
	}
	changed := append([]byte(nil), content[:last]...)
	changed[last-3] ^= 1
	torn := t.TempDir()
	check.Write(t, torn, "inflight/x.entry", string(changed))
	check.Equal(t, len(orphans(t, open(t, torn))), 0, "an entry with another content than its checksum was taken")
	left := slots(t, torn)
	check.That(t, len(left) == 1 && filepath.Ext(left[0]) == ".unreadable", "it was not set aside: %v", left)
}

// After a failed write or flush nothing is taken until the journal is opened
// again, and nobody takes the entry for one that began.
func TestFailedFlushPoisons(t *testing.T) {
	full := errors.New("no space left on device")
	for name, fail := range map[string]func(*journal.Journal){
		"flush":       func(j *journal.Journal) { j.FailFlush(full) },
		"write":       func(j *journal.Journal) { j.FailWrite(0, full) },
		"short write": func(j *journal.Journal) { j.FailWrite(120, full) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			j := open(t, dir)
			f := check.Value(j.Begin(entryOf("a")))(t)
			f.Done()
			fail(j)
			_, err := j.Begin(entryOf("b"))
			check.Must(t, errors.Is(err, journal.ErrUnavailable) && errors.Is(err, full), "%v", err)
			check.Fails(j.Begin(entryOf("c")))(t, journal.ErrUnavailable, "the next entry was taken")
			check.Equal(t, len(orphans(t, open(t, dir))), 0, "an entry that never began was taken")
		})
	}
}

func TestLinkInPlaceOfTheDirectoryIsRefused(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	check.OK(t, os.Symlink(elsewhere, filepath.Join(dir, "inflight")))
	check.Fails(open(t, dir).Begin(entryOf("a")))(t, journal.ErrUnavailable)
	left, _ := os.ReadDir(elsewhere)
	check.That(t, len(left) == 0, "the entry went through the link")
}

// TestFilesAsEarlierVersionsWroteThem: what a server of an earlier version had in flight when it died is read, and what this
// one writes is the same text.
func TestFilesAsEarlierVersionsWroteThem(t *testing.T) {
	for op, text := range map[change.Op]string{
		change.Created: `[{"op":"create","path":"a","after":"sha256:1","temp":"t"}]`,
		change.Deleted: `[{"op":"delete","path":"a","before":"sha256:1","temp":"t"}]`,
		change.Moved:   `[{"op":"move","path":"b","from":"a","before":"sha256:1","after":"sha256:2","temp":"t","gone":"g"}]`,
		change.Modified: `[{"op":"modify","path":"a","before":"sha256:1","after":"sha256:1","before_mode":420,"after_mode":493,"temp":"t"},` +
			`{"op":"modify","path":"b","before":"sha256:1","after":"sha256:2","after_mode":8389101,"temp":"u"}]`,
	} {
		var files journal.Files
		check.OK(t, json.Unmarshal([]byte(text), &files))
		for _, f := range files {
			check.That(t, f.Op == op && (f.Op == change.Modified) == (f.After.Mode != ""), "%s is read as %+v", text, f)
		}
		back, err := json.Marshal(files)
		check.That(t, err == nil && string(back) == text, "%s is written as %s, %v", text, back, err)
	}
}

// look is what somebody sees who changes nothing, and takes nothing from anybody.
func look(t *testing.T, dir string) []journal.Seen {
	t.Helper()
	state := check.Value(os.OpenRoot(dir))(t)
	defer state.Close()
	before := contents(t, dir)
	found := check.Value(journal.Look(state))(t)
	after := contents(t, dir)
	check.That(t, slices.Equal(before, after), "looking changed %q to %q", before, after)
	return found
}

func contents(t *testing.T, dir string) (all []string) {
	t.Helper()
	for _, name := range slots(t, dir) {
		content := check.Value(os.ReadFile(name))(t)
		all = append(all, name+string(content))
	}
	return all
}

func TestLookSeesWhatIsInFlight(t *testing.T) {
	dir := t.TempDir()
	check.Equal(t, len(look(t, dir)), 0, "found in nothing")
	one := journal.Open(journal.Options{State: func() (*os.Root, error) { return os.OpenRoot(dir) }})
	f := check.Value(one.Begin(entryOf("a")))(t)
	found := look(t, dir)
	check.That(t, len(found) == 1 && found[0].PID == os.Getpid() && !found[0].Torn && !found[0].Aside, "found %+v", found)
	name := slots(t, dir)[0]
	content := check.Value(os.ReadFile(name))(t)
	f.Done()
	check.Equal(t, len(look(t, dir)), 0, "found after its end")
	check.OK(t, one.Close())

	// The next to come still finds the entry of a dead process: looking did not take it.
	check.OK(t, os.WriteFile(name, content, 0o600))
	check.Equal(t, len(look(t, dir)), 1, "found of a dead process")
	taken := orphans(t, open(t, dir))
	check.Equal(t, len(taken), 1, "taken")
	taken[0].Release()
}

func TestLookSeesWhatIsTorn(t *testing.T) {
	dir := t.TempDir()
	inflight := filepath.Join(dir, "inflight")
	check.Write(t, inflight, "x.entry", "inflight 1 P- 00")
	check.Write(t, inflight, "y.entry.unreadable", "")
	found := look(t, dir)
	check.That(t, len(found) == 2 && found[0].Torn && !found[0].Aside && found[1].Aside, "found %+v", found)
	check.OK(t, os.Remove(filepath.Join(inflight, "x.entry")))
	check.OK(t, os.Mkdir(filepath.Join(inflight, "x.entry"), 0o700))
	state := check.Value(os.OpenRoot(dir))(t)
	defer state.Close()
	found, err := journal.Look(state)
	check.That(t, err != nil, "a directory for an entry gave %+v", found)
}
