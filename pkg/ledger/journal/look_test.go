package journal_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/journal"
)

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
	if found := look(t, dir); len(found) != 0 {
		t.Errorf("found %+v in nothing", found)
	}
	one := journal.Open(journal.Options{State: func() (*os.Root, error) { return os.OpenRoot(dir) }})
	f := check.Value(one.Begin(entryOf("a")))(t)
	found := look(t, dir)
	check.That(t, len(found) == 1 && found[0].PID == os.Getpid() && !found[0].Torn && !found[0].Aside, "found %+v", found)
	name := slots(t, dir)[0]
	content := check.Value(os.ReadFile(name))(t)
	f.Done()
	if found := look(t, dir); len(found) != 0 {
		t.Errorf("found %+v after its end", found)
	}
	check.OK(t, one.Close())

	// The next to come still finds the entry of a dead process: looking did not take it.
	check.OK(t, os.WriteFile(name, content, 0o600))
	if found := look(t, dir); len(found) != 1 {
		t.Errorf("found %+v of a dead process", found)
	}
	taken := orphans(t, open(t, dir))
	check.Equal(t, len(taken), 1, "taken")
	taken[0].Release()
}

func TestLookSeesWhatIsTorn(t *testing.T) {
	dir := t.TempDir()
	inflight := filepath.Join(dir, "inflight")
	check.OK(t, os.Mkdir(inflight, 0o700))
	check.OK(t, os.WriteFile(filepath.Join(inflight, "x.entry"), []byte("inflight 1 P- 00"), 0o600))
	check.OK(t, os.WriteFile(filepath.Join(inflight, "y.entry.unreadable"), nil, 0o600))
	found := look(t, dir)
	check.That(t, len(found) == 2 && found[0].Torn && !found[0].Aside && found[1].Aside, "found %+v", found)
	check.OK(t, os.Remove(filepath.Join(inflight, "x.entry")))
	check.OK(t, os.Mkdir(filepath.Join(inflight, "x.entry"), 0o700))
	state := check.Value(os.OpenRoot(dir))(t)
	defer state.Close()
	if found, err := journal.Look(state); err == nil {
		t.Errorf("a directory for an entry gave %+v", found)
	}
}
