package intent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

// FuzzStore changes files of any text: nothing panics, a change means what it should, and whatever else the file said,
// its comments included, stands there afterwards in the same order.
func FuzzStore(f *testing.F) {
	for _, seed := range []string{sample, "active_intents: []", `{"intents": [{"id": "a", "status": "TODO"}]}`,
		"active_intents:\n- id: a\n  status: TODO # c\n  owned_scope: [b, # d\n  c]\n", "", "# c", "x: &a [*a]",
		"active_intents:\n  - id: a\n    status: todo\n    owned_scope:\n    - |-\n      x\n\n\n# end", "\ufeff---\r\nintents: ~\r\n...",
		"? active_intents\n: - id: a\n    status: TODO\n", "active_intents: !!seq [&a {id: a, status: \"TO\\\nDO\"}]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		before, err := intent.Parse([]byte(text))
		if err != nil {
			if !errors.Is(err, intent.ErrUnreadable) {
				t.Fatalf("error %v", err)
			}
			return
		}
		added, err := intent.AddText([]byte(text), intent.Intent{ID: "zz", Name: "n\nm", Status: intent.Todo, OwnedScope: []string{"*"}})
		checkEdit(t, text, added, err, before, "zz")
		for _, in := range before {
			changed, err := intent.StatusText([]byte(text), in.ID, intent.InProgress, at)
			checkEdit(t, text, changed, err, before, in.ID)
			widened, err := intent.ScopeText([]byte(text), in.ID, []string{"new/**"})
			checkEdit(t, text, widened, err, before, in.ID)
		}
	})
}

// checkEdit compares a file before and after a change of one intent; no text means no change.
func checkEdit(t *testing.T, before string, after []byte, err error, was []*intent.Intent, changed string) {
	t.Helper()
	if err != nil || after == nil {
		return
	}
	now, err := intent.Parse(after)
	if err != nil {
		t.Fatalf("unreadable afterwards: %v\n%q\n%q", err, before, after)
	}
	versions := map[string]string{}
	for _, in := range now {
		versions[in.ID] = in.Version()
	}
	for _, in := range was {
		if in.ID != changed && versions[in.ID] != in.Version() {
			t.Fatalf("%s changed\n%q\n%q", in.ID, before, after)
		}
	}
	rest := string(after)
	for line := range strings.SplitSeq(before, "\n") {
		_, comment, ok := strings.Cut(line, "#")
		if !ok {
			continue
		}
		i := strings.Index(rest, comment)
		if i < 0 {
			t.Fatalf("lost %q\n%q\n%q", comment, before, after)
		}
		rest = rest[i+len(comment):]
	}
}
