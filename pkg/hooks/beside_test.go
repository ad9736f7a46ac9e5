package hooks_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/hooks"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// Tools come and go beside those that were added, which they cannot take the place of.
func TestToolsBeside(t *testing.T) {
	r := newRig(t)
	var there atomic.Bool
	r.opts.Beside = func(name string) (hooks.Tool, bool) {
		return &named{&stage{t: t, log: new([]string)}, name}, there.Load() && (name == "other" || name == "probe")
	}
	do := func(tool string) hooks.Result {
		return r.engine().Do(t.Context(), hooks.Request{Tool: tool, Arguments: hooks.NoArguments()})
	}
	refused := do("other")
	check.That(t, refused.Refusal != nil && refused.Refusal.Code() == refusal.InvalidArguments, "%+v", refused)
	_, known := r.engine().Spec("other")
	check.That(t, !known, "a tool that is not there has a spec")
	there.Store(true)
	check.That(t, !do("other").IsError, "a tool beside")
	spec, known := r.engine().Spec("other")
	check.That(t, known && spec.Name == "other" && len(r.engine().Specs()) == 1, "%+v", r.engine().Specs())
	r.log = nil
	check.That(t, !do("probe").IsError && len(r.log) > 0, "the added tool was not called")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 50 {
				there.Store(i%2 == 0)
				do("nobody")
				r.engine().Spec("other")
			}
		})
	}
	all.Wait()
}

// named is a tool of a name.
type named struct {
	*stage
	name string
}

func (n *named) Spec() hooks.Spec { return hooks.Spec{Name: n.name} }

// A tool can call the common arguments otherwise; what it does not take is its own.
func TestNamesOfCommonArguments(t *testing.T) {
	a := hooks.ReadArguments(json.RawMessage(`{"session":"s","intent_id":"i","mutation_class":"m","orchestra_session":"o"}`))
	check.Equal(t, a.Common(), hooks.Common{Session: "s", IntentID: "i", MutationClass: "m"})
	check.Equal(t, a.CommonAs(hooks.Names{Session: "orchestra_session", IntentID: "none"}), hooks.Common{Session: "o"})
	check.Equal(t, a.CommonAs(hooks.Names{}), hooks.Common{})
}

// What another server was asked to do stands, also where the ledger does not take the record: the journal keeps it.
func TestUnrecordedCallOfAnotherServerStands(t *testing.T) {
	r := newRig(t)
	r.rec.fail = true
	r.engine()
	r.tool.elsewhere = true
	result := r.do()
	check.That(t, result.Refusal != nil && result.Refusal.Code() == refusal.LedgerUnavailable && strings.Contains(string(result.Structured), `"changed":true`), "%s", result.Text)
	check.That(t, strings.Contains(fmt.Sprint(r.log), "kept"), "%v", r.log)
}
