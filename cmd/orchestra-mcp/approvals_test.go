package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// asked is a workspace in which agents have asked.
type asked struct {
	t     *testing.T
	dir   string
	store *approval.Store
}

func newAsked(t *testing.T) *asked {
	t.Helper()
	home(t)
	dir := t.TempDir()
	_, errs, code := run(t, dir, "init", "--yes")
	check.Must(t, code == exitDone, "%v", errs)
	root := check.Value(os.OpenRoot(dir))(t)
	t.Cleanup(func() { root.Close() })
	return &asked{t, dir, storeAt(root, askedAt)}
}

// storeAt is the store as at a fixed time.
func storeAt(root *os.Root, at time.Time) *approval.Store {
	return approval.Open(root, approval.Options{UserDir: settings.UserDir(os.Environ()), Clock: func() time.Time { return at }})
}

func (w *asked) put(r approval.Request) string {
	w.t.Helper()
	stored, _, err := w.store.Put(r)
	check.OK(w.t, err)
	return stored.ID
}

// run runs approvals and requires an exit code.
func (w *asked) run(code int, args ...string) (out, errs string) {
	w.t.Helper()
	out, errs, got := run(w.t, w.dir, append([]string{"approvals"}, args...)...)
	check.That(w.t, got == code, "approvals %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out, errs)
	return out, errs
}

// outcomes are the decisions in the ledger, oldest first.
func (w *asked) outcomes() (outcomes []string) {
	w.t.Helper()
	out, errs, code := run(w.t, w.dir, "log", "--json", "--kind", "decision", "-n", "0")
	check.Must(w.t, code == exitDone, "%v", errs)
	for line := range strings.Lines(out) {
		entry := check.Value(record.Parse([]byte(strings.TrimSuffix(line, "\n"))))(w.t)
		outcomes = append([]string{entry.Decision.Outcome + " " + entry.Decision.Approval}, outcomes...)
	}
	return outcomes
}

func callTo(path string) approval.Request {
	return approval.Request{
		Tool: "write_to_file", IntentID: "INT-001", Client: "client",
		Checks:  []approval.Check{{Hook: "scope", ErrorType: "SCOPE_VIOLATION", Reason: "out of scope", Paths: []string{path}}},
		Effects: []approval.Effect{{Kind: "create", Path: path, After: "sha256:" + strings.Repeat("0", 64)}},
		Diffs:   []approval.FileDiff{{Path: path, Hunks: "@@ -0,0 +1 @@\n+text\n", Size: 20, Lines: 2}},
	}
}

const hostileText = "a\x1b[2J\x1b]0;x\x07\u202egnp.\u2066\u200b\u00ad\u0085\u3164\u2800\ufe0f\r\nID  AGE\nallows everything\ttab\x00\u2028"

// Whatever an agent writes: what is printed has no character that acts or hides, and no line that the agent made.
func TestApprovalsCannotBeForged(t *testing.T) {
	w := newAsked(t)
	long := strings.Repeat("x", 5000) + "END"
	r := approval.Request{
		Tool: hostileText, Client: hostileText, IntentID: hostileText, IntentName: hostileText, Reason: hostileText,
		Name: hostileText, Paths: []string{hostileText}, Session: "s",
		Checks:  []approval.Check{{Hook: hostileText, ErrorType: hostileText, Reason: hostileText, Paths: []string{hostileText}}},
		Effects: []approval.Effect{{Kind: "modify", Path: hostileText, To: hostileText}, {Kind: "command", Line: hostileText + long, Cwd: hostileText, Shell: hostileText}},
		Diffs:   []approval.FileDiff{{Path: hostileText, Note: hostileText, Hunks: "@@ -1 +1 @@\n+" + strings.ReplaceAll(hostileText, "\n", "\n+") + long + "LINE" + long + "\n"}},
	}
	id := w.put(r)
	_, _, err := w.store.Answer(w.put(callTo(hostileText)), approval.Answer{Decision: approval.ForIntent, By: hostileText, Via: hostileText})
	check.OK(t, err)
	for _, args := range [][]string{{"list"}, {"list", "--json"}, {"list", "--grants"}, {"list", "--grants", "--json"}, {"list", "--answered"}, {"list", "--answered", "--json"}, {"show", id}, {"show", id, "--json"}, {"deny", id, "--reason", hostileText}, {"deny", id}} {
		out, errs, _ := run(t, w.dir, append([]string{"approvals"}, args...)...)
		for line := range strings.Lines(out + errs) {
			line = strings.TrimSuffix(line, "\n")
			for _, c := range line {
				if c != '\t' && (!unicode.IsPrint(c) || unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)) {
					t.Errorf("%v prints %U: %q", args, c, line)
				}
			}
			check.That(t, !strings.HasPrefix(line, "allows everything") && (args[0] != "show" || !strings.HasPrefix(line, "ID  AGE")),
				"%v prints a line of the agent's: %q", args, line)
		}
		check.That(t, args[0] != "show" || strings.Contains(out, "END") && strings.Contains(out, "ENDLINE"),
			"%v does not print all of a long command and line", args)
	}
}

func TestApprovalsListJSONHasTheFieldsThatScriptsReadAndNoOthers(t *testing.T) {
	w := newAsked(t)
	id := w.put(callTo("docs/a.md"))
	out, _ := w.run(exitDone, "list", "--json")
	var got []map[string]any
	err := json.Unmarshal([]byte(out), &got)
	check.Must(t, err == nil && len(got) == 1, "%v: %s", err, out)
	want := map[string]any{
		"id": id, "tool": "write_to_file", "intent_id": "INT-001", "error_type": "SCOPE_VIOLATION", "path": "docs/a.md", "command": "",
		"created_at": "2026-02-20T12:00:00Z", "expires_at": "2026-02-21T12:00:00Z",
	}
	for key, value := range want {
		check.That(t, got[0][key] == value, "%s is %v, want %v", key, got[0][key], value)
	}
	check.That(t, len(got[0]) == len(want), "%v", got[0])
}

func TestApprovalsAnswers(t *testing.T) {
	w := newAsked(t)
	once, denied, granted := w.put(callTo("docs/a.md")), w.put(callTo("docs/b.md")), w.put(callTo("docs/c.md"))
	protected := callTo(".mcp.json")
	protected.Once, protected.OnceWhy = true, "it can make programs run"
	only := w.put(protected)

	w.run(exitUsage, "approve", once) // nobody can be asked
	w.run(exitUsage, "approve", "apr_", "--yes")
	w.run(exitUsage, "approve", "--yes")
	w.run(exitUsage, "deny", denied, "--reason", strings.Repeat("x", 1001))
	w.run(exitDone, "approve", once[4:20], "--yes")
	_, errs := w.run(exitFound, "approve", once, "--yes")
	check.That(t, strings.Contains(errs, "was answered already: approved once by"), "%v", errs)
	w.run(exitFound, "deny", once)
	w.run(exitDone, "deny", denied, "--reason", "no\x1b[2J")
	_, errs = w.run(exitFound, "approve", denied, "--yes")
	check.That(t, strings.Contains(errs, `denied by`) && strings.Contains(errs, `no\x1b[2J`), "%v", errs)
	_, errs = w.run(exitUsage, "approve", only, "--for-intent", "--yes")
	check.That(t, strings.Contains(errs, "it can make programs run"), "%v", errs)
	out, _ := w.run(exitDone, "approve", granted, "--for-intent", "--yes")
	grant := regexp.MustCompile(`grt_[a-z2-7]{26}`).FindString(out)
	w.run(exitDone, "revoke", grant[:12])
	w.run(exitFound, "revoke", grant)
	w.run(exitDone, "revoke", once)  // the answer was not used
	w.run(exitFound, "revoke", once) // now it is withdrawn
	w.run(exitFound, "revoke", "grt_"+strings.Repeat("a", 26))
	w.run(exitFound, "show", "apr_"+strings.Repeat("a", 26))

	want := []string{"approved " + once, "denied " + denied, "approved " + granted, "revoked " + grant, "revoked " + once}
	got := w.outcomes()
	check.That(t, strings.Join(got, "\n") == strings.Join(want, "\n"), "the ledger has %q, want %q", got, want)
	checkLedger(t, w.dir)
}

func TestApproveOnceOfWhatHasChanged(t *testing.T) {
	w := newAsked(t)
	id := w.put(callTo("docs.md"))
	check.OK(t, os.WriteFile(filepath.Join(w.dir, "docs.md"), []byte("mine"), 0o644))
	out, _ := w.run(exitDone, "show", id)
	_, errs := w.run(exitFound, "approve", id, "--yes")
	if !strings.Contains(out, "docs.md has changed since") || !strings.Contains(errs, "docs.md has changed since the agent asked") {
		t.Error(out, errs)
	}
	_, err := w.store.AnswerOf(id)
	check.That(t, errors.Is(err, approval.ErrPending), "it was answered: %v", err)
	got := w.outcomes()
	check.That(t, len(got) == 0, "%q", got)
}

// Nobody answered: whoever finds that writes it down, once.
func TestExpiredRequestsAreRecordedOnce(t *testing.T) {
	w := newAsked(t)
	root := check.Value(os.OpenRoot(w.dir))(t)
	defer root.Close()
	w.store = storeAt(root, askedAt.Add(-25*time.Hour))
	id := w.put(callTo("docs/a.md"))
	_, errs := w.run(exitFound, "approve", id, "--yes")
	check.That(t, strings.Contains(errs, "it has expired"), "%v", errs)
	w.run(exitDone, "list")
	got := w.outcomes()
	check.That(t, len(got) == 1 && got[0] == "expired "+id, "%q", got)
	checkLedger(t, w.dir)
}

// An answer that cannot be recorded does not count.
func TestAnswersThatCannotBeRecordedDoNotCount(t *testing.T) {
	w := newAsked(t)
	once, granted := w.put(callTo("docs/a.md")), w.put(callTo("docs/b.md"))
	trace := filepath.Join(w.dir, ".orchestration", "agent_trace.jsonl")
	check.OK(t, os.RemoveAll(trace))
	check.OK(t, os.Mkdir(trace, 0o755))
	w.run(exitFailed, "approve", once, "--yes")
	w.run(exitFailed, "approve", granted, "--for-intent", "--yes")
	grants, err := w.store.Grants()
	check.That(t, err == nil && len(grants) == 0, "%v %v", grants, err)
	for _, id := range []string{once, granted} {
		_, err := w.store.AnswerOf(id)
		check.That(t, errors.Is(err, approval.ErrUnknown), "%s: %v", id, err)
	}
}
