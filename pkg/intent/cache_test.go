package intent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

func TestUnchangedFileIsNotReadAgain(t *testing.T) {
	w := newWorkspace(t, sample)
	later := time.Now().Add(time.Hour)
	w.store.SetClock(func() time.Time { return later })
	first := w.load()
	for range 3 {
		check.Must(t, w.load() == first, "another snapshot of the same file")
	}
	got := w.store.Reads()
	check.That(t, got == 1, "%d reads", got)
}

// TestFreshChangeIsCompared rewrites the file with the same size and modification time, as two saves within one tick of
// the clock would leave it.
func TestFreshChangeIsCompared(t *testing.T) {
	w := newWorkspace(t, sample)
	file := filepath.Join(w.dir, ".orchestration/active_intents.yaml")
	info := check.Value(os.Stat(file))(t)
	check.Must(t, get(t, w.load(), "INT-001").Agent == "builder", "agent")
	w.write(".orchestration/active_intents.yaml", strings.Replace(sample, "agent: builder", "agent: drifter", 1))
	check.OK(t, os.Chtimes(file, info.ModTime(), info.ModTime()))
	got := get(t, w.load(), "INT-001").Agent
	check.That(t, got == "drifter", "agent %s", got)
	first := w.load()
	check.That(t, w.load() == first, "the same bytes gave another snapshot")
}

func TestErrorsAreForgottenWhenTheFileIsRepaired(t *testing.T) {
	w := newWorkspace(t, "x: [")
	for _, text := range []string{"x: [", sample, "y: [", sample} {
		w.write(".orchestration/active_intents.yaml", text)
		_, err := w.store.Load()
		check.That(t, (err == nil) == (text == sample), "%.10q: %v", text, err)
		_, again := w.store.Load()
		check.That(t, fmt.Sprint(err) == fmt.Sprint(again), "first %v, then %v", err, again)
	}
}

func TestVersion(t *testing.T) {
	version := func(text string) string {
		return get(t, newWorkspace(t, "active_intents:\n"+text).load(), "a").Version()
	}
	base := version("- id: a\n  status: TODO\n  owned_scope: [x]\n")
	for _, same := range []string{
		"# c\n  - {status: TODO, id: a, owned_scope: ['x']} # c\n",
		"- id: a\n  owned_scope:\n  - \"x\"\n  status: TODO\n- {id: b, status: DONE}\n",
	} {
		check.That(t, version(same) == base, "another version for\n%s", same)
	}
	seen := map[string]string{base: "base"}
	for _, other := range []string{
		"- id: a\n  status: BLOCKED\n  owned_scope: [x]\n",
		"- id: a\n  status: TODO\n  owned_scope: [x, y]\n",
		"- id: a\n  status: TODO\n  owned_scope: [xy]\n",
		"- id: a\n  status: TODO\n  owned_scope: [x]\n  unknown: 1\n",
		"- id: a\n  status: TODO\n  owned_scope: [x]\n  unknown: '1'\n",
		"- id: a\n  status: TODO\n  owned_scope: [x]\n  unknown: [[], [1]]\n",
		"- id: a\n  status: TODO\n  owned_scope: [x]\n  unknown: [[1], []]\n",
	} {
		v := version(other)
		check.That(t, seen[v] == "", "the same version for\n%s\nand\n%s", other, seen[v])
		seen[v] = other
	}
}

func TestLoadIsSafeForConcurrentUse(t *testing.T) {
	w := newWorkspace(t, sample)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for range 20 {
				set, err := w.store.Load()
				check.That(t, err == nil && len(set.All()) >= 2, "Load: %v", err)
				_, err = w.store.Ignore()
				check.That(t, err == nil, "Ignore: %v", err)
			}
			_, _, err := w.store.AddNext(t.Context(), intent.Intent{Name: fmt.Sprint(i), Status: intent.Todo})
			check.That(t, err == nil, "AddNext: %v", err)
		})
	}
	group.Wait()
	n := len(w.load().All())
	check.That(t, n == 6, "%d intents", n)
}
