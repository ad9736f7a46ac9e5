package intent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// A plan changes nothing, says what would be there, is made once on that very file, and can be taken back.
func TestPlanIsMadeOnItsFileOnly(t *testing.T) {
	for name, plan := range map[string]func(*intent.Store) (*intent.Plan, error){
		"status": func(s *intent.Store) (*intent.Plan, error) { return s.PlanStatus("INT-001", intent.Done, at) },
		"scope":  func(s *intent.Store) (*intent.Plan, error) { return s.PlanScope("INT-002", []string{"x/**"}) },
		"add": func(s *intent.Store) (*intent.Plan, error) {
			p, id, err := s.PlanAdd(intent.Intent{Name: "N", Status: intent.Todo, OwnedScope: []string{"a"}})
			if id != "INT-003" {
				t.Errorf("id %q", id)
			}
			return p, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkspace(t, sample)
			p, err := plan(w.store)
			must(t, err)
			before, after := p.Hashes()
			if w.intents() != sample || string(p.Before) != sample || !p.Changes() || before == after {
				t.Fatalf("planning changed something, or plans nothing: %q", p.After)
			}
			w.write(".orchestration/active_intents.yaml", sample+"# by hand\n")
			if _, err := w.store.Apply(context.Background(), p); !errors.Is(err, intent.ErrChanged) || w.intents() != sample+"# by hand\n" {
				t.Fatalf("made on another file: %v", err)
			}
			w.write(".orchestration/active_intents.yaml", sample)
			_, err = w.store.Apply(context.Background(), p)
			must(t, err)
			if w.intents() != string(p.After) {
				t.Errorf("%s", w.intents())
			}
			if _, err := w.store.Apply(context.Background(), p); !errors.Is(err, intent.ErrChanged) {
				t.Errorf("made twice: %v", err)
			}
			inverse, err := p.Inverse()
			must(t, err)
			set, err := w.store.Apply(context.Background(), inverse)
			if err != nil || w.intents() != sample || len(set.All()) != 2 {
				t.Errorf("taken back: %v\n%s", err, w.intents())
			}
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
		if !errors.Is(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	p, err := w.store.PlanScope("INT-002", []string{"README.md"})
	if err != nil || p.Changes() {
		t.Errorf("what stands there already: %v", err)
	}
	w.write(".orchestration/active_intents.yaml", "active_intents: [")
	if _, err = w.store.PlanStatus("INT-001", intent.Done, at); !errors.Is(err, intent.ErrUnreadable) {
		t.Error(err)
	}
}

// FuzzPlan edits files of any text through plans: a plan that is made and taken back leaves the very bytes, and what
// else stood there, comments included, stands there in between.
func FuzzPlan(f *testing.F) {
	for _, seed := range []string{sample, "active_intents: []", `{"intents": [{"id": "a", "status": "TODO", "owned_scope": ["x"]}]}`,
		"active_intents:\n- id: a\n  status: TODO # c\n  owned_scope: [b, # d\n  c]\n", "# c", "\ufeff---\r\nintents: ~\r\n..."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		was, err := intent.Parse([]byte(text))
		if err != nil {
			return
		}
		w := newWorkspace(t, text)
		try := func(id string, p *intent.Plan, err error) {
			if err != nil || !p.Changes() {
				return
			}
			checkEdit(t, text, p.After, nil, was, id)
			if _, err := w.store.Apply(context.Background(), p); err != nil || w.intents() != string(p.After) {
				t.Fatalf("made: %v", err)
			}
			inverse, err := p.Inverse()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.store.Apply(context.Background(), inverse); err != nil || w.intents() != text {
				t.Fatalf("taken back: %v\n%q\n%q", err, text, w.intents())
			}
		}
		p, id, err := w.store.PlanAdd(intent.Intent{Name: "n\nm: #x", Status: intent.Todo, Description: "d\n # e", OwnedScope: []string{"*"}})
		if err == nil && !strings.Contains(string(p.After), id) {
			t.Fatalf("%s is not there: %q", id, p.After)
		}
		try(id, p, err)
		for _, in := range was {
			p, err := w.store.PlanStatus(in.ID, intent.Done, at)
			try(in.ID, p, err)
			p, err = w.store.PlanScope(in.ID, []string{"new/**"})
			try(in.ID, p, err)
		}
	})
}
