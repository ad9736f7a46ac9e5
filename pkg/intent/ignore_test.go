package intent_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
)

const ignoreSample = `# Rules.
intent:INT-001   # on hold
approve:INT-002
LEGACY-9
OTHER-12  # whether it exists or not

dist/
*.gen.go
!keep.gen.go
/config/*.yaml
secret:.env
secret:keys/
secret:!keys/public.pem
secret: *.key
unscoped:CHANGELOG.md
unscoped:docs/**/notes/
\intent:x
\!odd
`

func TestIgnore(t *testing.T) {
	w := newWorkspace(t, sample)
	w.write(".orchestration/.intentignore", ignoreSample)
	w.write(".intentignore", "!dist/\n!a.gen.go\nvendor/\nsecret:!.env\nintent:INT-3\n")
	w.store.TrustedBy(func(string) bool { return true })
	g := w.load().Ignore()
	for id, want := range map[string]bool{"INT-001": true, "INT-002": false, "INT-3": true, "INT-0011": false, "int-001": false} {
		check.That(t, g.IntentBlocked(id) == want, "IntentBlocked(%s) is not %v", id, want)
	}
	for id, want := range map[string]bool{"INT-002": true, "LEGACY-9": true, "OTHER-12": true, "INT-001": false} {
		check.That(t, g.NeedsApproval(id) == want, "NeedsApproval(%s) is not %v", id, want)
	}
	tests := []struct {
		path                      string
		blocked, secret, unscoped bool
	}{
		{"dist/x", true, false, false},
		{"a/dist/b/c", true, false, false},
		{"dist", false, false, false}, // a file of this name
		{"dist/", true, false, false},
		{"x/a.gen.go", true, false, false},
		{"keep.gen.go", false, false, false},
		{"x/keep.gen.go", false, false, false},
		{"config/a.yaml", true, false, false},
		{"x/config/a.yaml", false, false, false},
		{"vendor/a", true, false, false},
		{".env", true, true, false},
		{"x/.env", true, true, false},
		{".ENV", false, false, false}, // letter case is the caller's part
		{"keys/a", true, true, false},
		{"keys/public.pem", true, true, false}, // below a directory that matches
		{"a.key", true, true, false},
		{"CHANGELOG.md", false, false, true},
		{"x/CHANGELOG.md", false, false, true},
		{"docs/notes/a", false, false, true},
		{"docs/x/y/notes/a/b", false, false, true},
		{"intent:x", true, false, false},
		{"!odd", true, false, false},
		{"src/main.go", false, false, false},
		{".", false, false, false},
		{"../x", true, true, false},
		{"/etc/passwd", true, true, false},
		{"", true, true, false},
		{"a//b", true, true, false},
		{"a\xff", true, true, false},
	}
	for _, tt := range tests {
		_, blocked := g.PathBlocked(tt.path)
		_, secret := g.Secret(tt.path)
		_, unscoped := g.Unscoped(tt.path)
		check.That(t, blocked == tt.blocked && secret == tt.secret && unscoped == tt.unscoped,
			"%q: blocked %v, secret %v, unscoped %v", tt.path, blocked, secret, unscoped)
	}
	want := intent.IgnoreRule{File: ".orchestration/.intentignore", Line: 14, Text: "secret: *.key"}
	r, _ := g.PathBlocked("x/a.key")
	check.That(t, r == want, "rule %+v", r)
}

func TestIgnoreUnclearLines(t *testing.T) {
	for line, reason := range map[string]string{
		"secert:.env":       "unknown directive",
		"Secret:.env":       "unknown directive",
		"!secret:.env":      "unknown directive",
		"!intent:INT-001":   "unknown directive",
		"intent :INT-001":   "unknown directive",
		"C:/x":              "unknown directive",
		"intent:":           "not an intent id",
		"intent:a b":        "not an intent id",
		"intent:1":          "not an intent id",
		"approve:INT-*":     "not an intent id",
		"secret:":           "names nothing",
		"secret:#x":         "names nothing",
		"unscoped:   ":      "names nothing",
		"secret:[":          `without "]"`,
		"[a":                `without "]"`,
		"../x":              "leaves the workspace",
		"a/../../x":         "leaves the workspace",
		"!":                 "names nothing",
		"/":                 "names nothing",
		`x\`:                "escapes nothing",
		"*.log # old logs":  "line of its own",
		" *.log":            "begins with a space",
		"a\tb":              "control character",
		"a\x00b":            "control character",
		"a\xff":             "UTF-8",
		"[[:alpha:]]":       "named classes",
		"a\rb":              "control character",
		"INT-001 INT-002 #": "line of its own",
	} {
		for _, name := range []string{".intentignore", ".orchestration/.intentignore"} {
			w := newWorkspace(t, sample)
			w.write(name, "# first\nsecret:.env\n"+line+"\nsecret:late\n")
			_, err := w.store.Load()
			var at *intent.UnreadableError
			check.That(t, errors.As(err, &at) && at.File == name && at.Line == 3 && strings.Contains(at.Reason, reason),
				"%q: %v", line, err)
			g, err := w.store.Ignore()
			check.That(t, errors.Is(err, intent.ErrUnreadable), "Ignore with %q: %v", line, err)
			for _, path := range []string{".env", "late"} {
				_, secret := g.Secret(path)
				check.That(t, secret, "%q: %s is no longer secret", line, path)
			}
		}
	}
}

// TestBareIDs: a line that is nothing but a name means the intent of that name, if there is one and no such path.
func TestBareIDs(t *testing.T) {
	const intents = "active_intents:\n  - id: auth-refactor\n  - id: INT-7a\n  - id: INT-001\n  - id: dist\n  - id: v1.2_x\n"
	const rules = "auth-refactor\nINT-7a # on hold\nINT-001\nOTHER-2\nv1.2_x  \nold-refactor\n/dist\nINT-7b\n"
	for _, name := range []string{".intentignore", ".orchestration/.intentignore"} {
		w := newWorkspace(t, intents)
		w.write(name, rules)
		holds := func(asks, blocks string) {
			t.Helper()
			g := w.load().Ignore()
			for _, id := range []string{"auth-refactor", "INT-7a", "INT-001", "OTHER-2", "v1.2_x", "old-refactor", "dist", "INT-7b"} {
				got, want := g.NeedsApproval(id), strings.Contains(asks, id)
				check.That(t, got == want, "%s: NeedsApproval(%s) is %v", name, id, got)
				_, got = g.PathBlocked("x/" + id)
				check.That(t, got == strings.Contains(blocks, id), "%s: PathBlocked(x/%s) is %v", name, id, got)
			}
		}
		holds("auth-refactor INT-7a INT-001 OTHER-2 v1.2_x", "old-refactor INT-7b")
		r, ok := w.load().Ignore().PathBlocked("auth-refactor")
		check.That(t, ok && r.Line == 1, "%s: what would make the line unclear can be created: %v %v", name, r, ok)
		// A declaration and its end are seen at once, by both who load intents and who ask for the rules alone.
		w.write(".orchestration/active_intents.yaml", intents+"  - id: old-refactor\n")
		holds("auth-refactor INT-7a INT-001 OTHER-2 v1.2_x old-refactor", "INT-7b")
		w.write(".orchestration/active_intents.yaml", strings.Replace(intents, "  - id: auth-refactor\n", "", 1))
		g := check.Value(w.store.Ignore())(t)
		_, blocked := g.PathBlocked("x/auth-refactor")
		check.That(t, blocked, "no glob once the intent is gone")
		w.write(".orchestration/active_intents.yaml", intents)
		for i, id := range []string{"auth-refactor", "INT-7a", "INT-001"} {
			check.OK(t, os.Mkdir(filepath.Join(w.dir, id), 0o755))
			var at *intent.UnreadableError
			if _, err := w.store.Load(); !errors.As(err, &at) || at.File != name || at.Line != i+1 ||
				!strings.Contains(at.Reason, "approve:"+id) || !strings.Contains(at.Reason, "/"+id) {
				t.Errorf("%s is a path: %v", id, err)
			}
			_, err := w.store.Ignore()
			check.That(t, errors.As(err, &at), "Ignore: %v", err)
			check.OK(t, os.Remove(filepath.Join(w.dir, id)))
		}
		check.OK(t, os.Mkdir(filepath.Join(w.dir, "OTHER-2"), 0o755)) // not declared, so it is not unclear
		holds("auth-refactor INT-7a INT-001 OTHER-2 v1.2_x", "old-refactor INT-7b")
	}
}

func TestIgnoreHoldsWithoutIntents(t *testing.T) {
	w := newWorkspace(t, "broken: [")
	w.write(".intentignore", "\ufeffsecret:.env\r\nold\r\n")
	g := check.Value(w.store.Ignore())(t)
	_, secret := g.Secret("x/.env")
	check.That(t, secret, "not secret while the intents are unreadable")
	_, blocked := g.PathBlocked("old")
	check.That(t, blocked, "line with CRLF")
	_, err := w.store.Load()
	check.That(t, errors.Is(err, intent.ErrUnreadable), "Load: %v", err)
	check.OK(t, os.Remove(filepath.Join(w.dir, ".intentignore")))
	g = check.Value(w.store.Ignore())(t)
	_, secret = g.Secret(".env")
	check.That(t, !secret, "secret by a file that is gone")
	check.OK(t, os.Mkdir(filepath.Join(w.dir, ".intentignore"), 0o755))
	g, err = w.store.Ignore()
	check.That(t, errors.Is(err, intent.ErrUnreadable) && g != nil, "a directory: %v", err)
}

func TestIgnoreChangesAreSeen(t *testing.T) {
	w := newWorkspace(t, sample)
	for _, text := range []string{"a", "b", "a", "c"} {
		w.write(".intentignore", text)
		g := w.load().Ignore()
		_, blocked := g.PathBlocked(text)
		check.Must(t, blocked, "%s is not blocked", text)
	}
	check.OK(t, os.Remove(filepath.Join(w.dir, ".intentignore")))
	_, blocked := w.load().Ignore().PathBlocked("c")
	check.That(t, !blocked, "c is blocked by a file that is gone")
}

func TestNilIgnoreHasNoRules(t *testing.T) {
	var g *intent.Ignore
	_, blocked := g.PathBlocked("a")
	check.That(t, !blocked && !g.IntentBlocked("a") && !g.NeedsApproval("a"), "a rule")
}

func TestCovering(t *testing.T) {
	w := newWorkspace(t, `active_intents:
  - {id: z, name: z, status: TODO, owned_scope: [src]}
  - {id: b, name: b, status: IN_PROGRESS, owned_scope: ["src/**"]}
  - {id: c, name: c, status: BLOCKED, owned_scope: [src]}
  - {id: d, name: d, status: DONE, owned_scope: [src]}
  - {id: e, name: e, status: TODO}
  - {id: f, name: f, status: TODO, owned_scope: [src]}
  - {id: g, name: g, status: TODO, owned_scope: [docs]}
`)
	w.write(".intentignore", "intent:f\nintent:nobody\n")
	set := w.load()
	var ids []string
	for _, in := range set.Covering("src/a") {
		ids = append(ids, in.ID)
	}
	got := strings.Join(ids, " ")
	check.That(t, got == "b z", "covering: %s", got)
	warnings := set.Warnings()
	check.That(t, len(warnings) == 2 && strings.Contains(warnings[1].String(), "nobody"), "warnings: %v", warnings)
}

func FuzzIgnore(f *testing.F) {
	f.Add(ignoreSample, "dist/x")
	f.Add("secret:x\n!y\nintent:z # c\n", "x")
	f.Fuzz(func(t *testing.T, text, path string) {
		rules, err := intent.ParseIgnore([]byte(text))
		for _, line := range strings.Split(text, "\n") {
			line = strings.TrimSuffix(strings.TrimSuffix(line, "\r"), " ")
			id, ok := strings.CutPrefix(line, "intent:")
			check.That(t, !ok || !intent.ValidID(id) || rules.IntentBlocked(id), "%q does not block", line)
		}
		if _, secret := rules.Secret(path); secret {
			_, blocked := rules.PathBlocked(path)
			check.That(t, blocked, "%q is secret and not blocked", path)
		}
		check.That(t, err == nil || errors.Is(err, intent.ErrUnreadable), "error %v", err)
	})
}
