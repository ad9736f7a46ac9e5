package intent_test

import (
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

const granting = `active_intents:
  - {id: A, status: IN_PROGRESS, owned_scope: [src], commands: {allow: [rm, "git push"], deny: [curl], network: allow}}
  - {id: B, status: TODO, owned_scope: [src], commands: {network: deny}}
`

// trusting is a store whose operator trusts what is in the set.
func trusting(w *workspace) (*intent.Store, map[string]bool) {
	trusted := map[string]bool{}
	w.store.TrustedBy(func(hash string) bool { return trusted[hash] })
	return w.store, trusted
}

func TestGrantsWaitForTrust(t *testing.T) {
	w := newWorkspace(t, granting)
	w.write(".intentignore", "# ours\nunscoped:docs/\n")
	w.write(".orchestration/.intentignore", "unscoped:*.md\nfrozen/\n")
	store, trusted := trusting(w)
	holds := func(commands, inside, root bool) {
		t.Helper()
		set := check.Value(store.Load())(t)
		rules := set.Commands(get(t, set, "A"))
		got := len(rules.Allow) == 2 && rules.Network == "allow"
		check.That(t, got == commands && len(rules.Deny) == 1, "commands %+v, want trusted %v", rules, commands)
		rules = set.Commands(get(t, set, "B"))
		check.That(t, rules.Network == "deny", "what tightens needs no trust: %+v", rules)
		for path, want := range map[string]bool{"a.md": inside, "docs/a": root} {
			_, got = set.Ignore().Unscoped(path)
			check.That(t, got == want, "%s unscoped: %v, want %v", path, got, want)
			_, waits := set.Ignore().UnscopedUntrusted(path)
			check.That(t, waits != want, "%s waits for trust: %v", path, waits)
		}
		_, blocked := set.Ignore().PathBlocked("frozen/a")
		check.That(t, blocked, "a path rule needs no trust")
	}
	holds(false, false, false)
	all := store.Weakenings()
	if len(all) != 3 || len(all[0].Entries) != 2 || all[0].Entries[0].Line != 2 || all[1].Entries[0].Text != "unscoped:*.md" || all[2].Entries[0].Line != 2 {
		t.Fatalf("%+v", all)
	}
	// Trust takes effect at the next call, each file by itself.
	trusted[all[2].Hash] = true
	holds(false, false, true)
	trusted[all[0].Hash] = true
	holds(true, false, true)
	trusted[all[1].Hash] = true
	holds(true, true, true)

	// Any change of an ignore file asks again; what the server changes in the intents does not.
	w.write(".intentignore", "# theirs\nunscoped:docs/\n")
	holds(true, true, false)
	check.Value(store.SetStatus(t.Context(), "B", intent.InProgress, time.Now()))(t)
	holds(true, true, false)
	w.write(".orchestration/active_intents.yaml", `active_intents:
  - {id: A, status: IN_PROGRESS, owned_scope: [src], commands: {allow: [rm, "git pull"], deny: [curl], network: allow}}
  - {id: B, status: TODO, owned_scope: [src], commands: {network: deny}}
`)
	holds(false, true, false)
}

// Without anybody to ask nothing is trusted.
func TestNobodyTrusts(t *testing.T) {
	w := newWorkspace(t, granting)
	w.write(".intentignore", "unscoped:**\n")
	set := check.Value(w.store.Load())(t)
	_, ok := set.Ignore().Unscoped("x")
	check.That(t, !ok && len(set.Commands(get(t, set, "A")).Allow) <= 0, "trusted by nobody")
	for _, each := range w.store.Weakenings() {
		check.That(t, !each.Trusted, "%+v", each)
	}
}
