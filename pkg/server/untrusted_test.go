package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// A cloned repository in-process: what an embedder hands over without a word of trust is not trusted.
func TestAClonedRepositoryIsNotTheOperator(t *testing.T) {
	t.Parallel()
	origin := newWorkspace(t)
	write(t, origin, ".intentignore", "unscoped:**\n")
	write(t, origin, ".orchestration/config.yaml", "write.blind: allow\nsandbox: \"off\"\nhooks: [{event: pre, command: \"touch ran\"}]\n")
	git(t, origin, "add", "-f", ".")
	git(t, origin, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "hostile")
	dir := t.TempDir()
	git(t, dir, "clone", "-q", origin, ".")
	trusted := false
	b := start(t, dir, func(o *server.Options) {
		o.Trusted = func(hash string) bool { return trusted && hash == settings.ContentHash([]byte("unscoped:**\n")) }
		o.Withheld = []string{"config.yaml:1: write.blind = allow"}
	}).connect()
	s := b.selects("INT-002")
	r := b.refused("SCOPE_VIOLATION", "write_to_file", args{"session": s, "path": "new.txt", "content": "x"})
	if r.details()["untrusted"] != ".intentignore:1" || !strings.Contains(r.str("suggestion"), "orchestra-mcp trust") {
		t.Errorf("%s", r.Text)
	}
	if list, _ := r.details()["untrusted_settings"].([]any); len(list) != 2 {
		t.Errorf("%s", r.Text)
	}
	r = b.refused("SCOPE_VIOLATION", "write_to_file", args{"session": s, "path": "new.txt", "content": "x"})
	if r.details()["untrusted_settings"] != nil {
		t.Errorf("said twice: %s", r.Text)
	}
	trusted = true
	r = b.ok("write_to_file", args{"session": s, "path": "new.txt", "content": "x"})
	if !strings.Contains(r.Text, ".intentignore:1 lets it pass") {
		t.Errorf("the result does not say why it passed: %s", r.Text)
	}
	// It exempts from the scope and from nothing else.
	b.refused("PROTECTED_PATH", "write_to_file", args{"session": s, "path": ".git/config", "content": "x"})
	b.refused("APPROVAL_REQUIRED", "write_to_file", args{"session": s, "path": ".mcp.json", "content": "x"})
	b.refused("READ_REQUIRED", "write_to_file", args{"session": s, "path": "src/a.txt", "content": "x"})
	b.holds(map[string]string{"ran": ""})
}

// The verify commands of a cloned repository need no trust, and get none: they
// run under the law of an agent's commands.
func TestVerifyNeedsNoTrust(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"echo built > src/built.txt":          "",
		"echo x > .git/hooks/pre-commit":      "PROTECTED_PATH",
		"make install":                        "COMMAND_BLOCKED",
		"echo x > docs/far.txt || false":      "SCOPE_VIOLATION",
		"cat .env && echo x > src/leaked.txt": "VERIFY_FAILED",
	} {
		dir := newWorkspace(t)
		write(t, dir, ".orchestration/active_intents.yaml", fmt.Sprintf(
			"active_intents:\n  - {id: V-1, name: V, owned_scope: [src/**], commands: {deny: [make], allow: [cat]}, verify: [%q]}\n", command))
		b := start(t, dir, func(o *server.Options) {
			o.Trusted = func(string) bool { return false }
			o.Settings.Sandbox = settings.Best
		}).connect()
		s := b.selects("V-1")
		if want == "" {
			b.ok("update_intent", args{"session": s, "intent_id": "V-1", "status": "DONE"})
			b.wantRecord(`"kind":"command"`, `"intent_id":"V-1"`)
			continue
		}
		b.refused(want, "update_intent", args{"session": s, "intent_id": "V-1", "status": "DONE"})
		if text := b.read(".orchestration/active_intents.yaml"); strings.Contains(text, "DONE") {
			t.Errorf("%s: done all the same: %s", command, text)
		}
	}
}
