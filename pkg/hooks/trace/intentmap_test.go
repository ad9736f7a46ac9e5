package trace_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/trace"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/mutation"
)

// A burst of calls is one write, with one entry for each intent.
func TestMapKeeperGathersABurst(t *testing.T) { synctest.Test(t, gathersABurst) }

func gathersABurst(t *testing.T) {
	var written [][]trace.MapChange
	keeper := trace.NewMapKeeper(func(changes []trace.MapChange) error {
		written = append(written, changes)
		return nil
	}, time.Now, zerolog.Nop())
	changed := func(id string, class mutation.Class, paths ...string) {
		t.Helper()
		outcome := &hooks.Outcome{Class: mutation.Resolved{Class: class}}
		for _, path := range paths {
			outcome.Files = append(outcome.Files, hooks.FileOutcome{Change: change.Change{Op: change.Modified, Path: path}})
		}
		check.OK(t, keeper.After(t.Context(), &hooks.Call{Intent: &intent.Intent{ID: id}}, outcome))
	}
	changed("INT-1", mutation.Evolution, "b", "a")
	changed("INT-2", mutation.Evolution, "c")
	changed("INT-1", mutation.Refactor, "not-in-the-map")
	changed("INT-1", mutation.Evolution, "a", "d")
	time.Sleep(time.Second)
	synctest.Wait()
	keeper.Close()
	check.Must(t, len(written) == 1 && len(written[0]) == 2, "want one write of two intents, got %+v", written)
	one, two := written[0][0], written[0][1]
	if one.IntentID != "INT-1" || !slices.Equal(one.Paths, []string{"a", "b", "d"}) || two.IntentID != "INT-2" || !slices.Equal(two.Paths, []string{"c"}) {
		t.Errorf("%+v", written[0])
	}
}
