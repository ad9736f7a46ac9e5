package intent_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// A plan changes nothing, says what would be there, is made once on that very file, and can be taken back.
func TestPlanIsMadeOnItsFileOnly(t *testing.T) {
	for name, plan := range map[string]func(*intent.Store) (*intent.Plan, error){
		"status": func(s *intent.Store) (*intent.Plan, error) { return s.PlanStatus("INT-001", intent.Done, at) },
		"scope":  func(s *intent.Store) (*intent.Plan, error) { return s.PlanScope("INT-002", []string{"x/**"}) },
		"add": func(s *intent.Store) (*intent.Plan, error) {
			p, id, err := s.PlanAdd(intent.Intent{Name: "N", Status: intent.Todo, OwnedScope: []string{"a"}})
			check.That(t, id == "INT-003", "id %q", id)
			return p, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t, sample)
			p := check.Value(plan(w.store))(t)
			before, after := p.Hashes()
			check.Must(t, w.intents() == sample && string(p.Before) == sample && p.Changes() && before != after,
				"planning changed something, or plans nothing: %q", p.After)
			w.write(".orchestration/active_intents.yaml", sample+"# by hand\n")
			_, err := w.store.Apply(t.Context(), p)
			check.Must(t, errors.Is(err, intent.ErrChanged) && w.intents() == sample+"# by hand\n", "made on another file: %v", err)
			w.write(".orchestration/active_intents.yaml", sample)
			check.Value(w.store.Apply(t.Context(), p))(t)
			check.That(t, w.intents() == string(p.After), "%s", w.intents())
			_, err = w.store.Apply(t.Context(), p)
			check.That(t, errors.Is(err, intent.ErrChanged), "made twice: %v", err)
			inverse := check.Value(p.Inverse())(t)
			set, err := w.store.Apply(t.Context(), inverse)
			check.That(t, err == nil && w.intents() == sample && len(set.All()) == 2, "taken back: %v\n%s", err, w.intents())
		})
	}
}

func TestPlansThatCannotBe(t *testing.T) {
	w := newWorkspace(t, sample)
	_, unknown := w.store.PlanStatus("INT-009", intent.Done, at)
	_, status := w.store.PlanStatus("INT-001", "OPEN", at)
	_, outside := w.store.PlanScope("INT-001", []string{"../x"})
	_, _, twice := w.store.PlanAdd(intent.Intent{ID: "INT-001", Status: intent.Todo})
	for got, want := range map[error]error{
		unknown: intent.ErrUnknownIntent, status: intent.ErrInvalid, outside: intent.ErrInvalid, twice: intent.ErrDuplicateID,
	} {
		check.That(t, errors.Is(got, want), "%v, want %v", got, want)
	}
	p, err := w.store.PlanScope("INT-002", []string{"README.md"})
	check.That(t, err == nil && !p.Changes(), "what stands there already: %v", err)
	w.write(".orchestration/active_intents.yaml", "active_intents: [")
	_, err = w.store.PlanStatus("INT-001", intent.Done, at)
	check.That(t, errors.Is(err, intent.ErrUnreadable), "%v", err)
}

// FuzzPlan edits files of any text through plans: nothing panics; a plan that is made and taken back leaves the very bytes;
// what else stood there, comments included, stands there in between, in the same order.
func FuzzPlan(f *testing.F) {
	for _, seed := range []string{sample, "active_intents: []", `{"intents": [{"id": "a", "status": "TODO", "owned_scope": ["x"]}]}`,
		"active_intents:\n- id: a\n  status: TODO # c\n  owned_scope: [b, # d\n  c]\n", "", "# c", "x: &a [*a]",
		"active_intents:\n  - id: a\n    status: todo\n    owned_scope:\n    - |-\n      x\n\n\n# end", "\ufeff---\r\nintents: ~\r\n...",
		"? active_intents\n: - id: a\n    status: TODO\n", "active_intents: !!seq [&a {id: a, status: \"TO\\\nDO\"}]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		was, err := intent.Parse([]byte(text))
		if err != nil {
			check.Must(t, errors.Is(err, intent.ErrUnreadable), "error %v", err)
			return
		}
		w := newWorkspace(t, text)
		try := func(id string, p *intent.Plan, err error) {
			if err != nil || !p.Changes() {
				return
			}
			checkEdit(t, text, p.After, was, id)
			_, err = w.store.Apply(t.Context(), p)
			check.Must(t, err == nil && w.intents() == string(p.After), "made: %v", err)
			inverse := check.Value(p.Inverse())(t)
			_, err = w.store.Apply(t.Context(), inverse)
			check.Must(t, err == nil && w.intents() == text, "taken back: %v\n%q\n%q", err, text, w.intents())
		}
		p, id, err := w.store.PlanAdd(intent.Intent{Name: "n\nm: #x", Status: intent.Todo, Description: "d\n # e", OwnedScope: []string{"*"}})
		if err == nil {
			check.Must(t, strings.Contains(string(p.After), id), "%s is not there: %q", id, p.After)
		}
		try(id, p, err)
		for _, in := range was {
			for _, status := range []intent.Status{intent.InProgress, intent.Done} {
				p, err := w.store.PlanStatus(in.ID, status, at)
				try(in.ID, p, err)
			}
			p, err := w.store.PlanScope(in.ID, []string{"new/**"})
			try(in.ID, p, err)
			more := append([]string{"# first"}, append(slices.Clone(in.Constraints), "last")...)
			p, err = w.store.PlanEdit(in.ID, intent.Edit{Version: in.Version(), Constraints: &more})
			try(in.ID, p, err)
		}
	})
}

// checkEdit compares a file before and after a change of one intent.
func checkEdit(t *testing.T, before string, after []byte, was []*intent.Intent, changed string) {
	t.Helper()
	now, err := intent.Parse(after)
	check.Must(t, err == nil, "unreadable afterwards: %v\n%q\n%q", err, before, after)
	versions := map[string]string{}
	for _, in := range now {
		versions[in.ID] = in.Version()
	}
	for _, in := range was {
		check.Must(t, in.ID == changed || versions[in.ID] == in.Version(), "%s changed\n%q\n%q", in.ID, before, after)
	}
	rest := string(after)
	for line := range strings.SplitSeq(before, "\n") {
		_, comment, ok := strings.Cut(" "+line, " #")
		if !ok {
			continue
		}
		i := strings.Index(rest, comment)
		check.Must(t, i >= 0, "lost %q\n%q\n%q", comment, before, after)
		rest = rest[i+len(comment):]
	}
}
