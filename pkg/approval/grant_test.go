package approval_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
)

func covered(t *testing.T, s *approval.Store, r approval.Request, want bool) {
	t.Helper()
	_, got, err := s.Covered(r)
	check.That(t, err == nil && got == want, "%+v covered: %v %v, want %v", r.Checks, got, err, want)
}

func TestGrantCoversTheSameCheckOnTheSamePath(t *testing.T) {
	d := newDesk(t)
	s := d.process()
	r := d.put(s, outOfScope("docs/a.md"))
	_, grants, err := s.Answer(r.ID, approval.Answer{Decision: approval.ForIntent, By: "me", Via: approval.Inbox})
	check.Must(t, err == nil && len(grants) == 1, "%+v %v", grants, err)
	later := d.process()
	same := outOfScope("docs/a.md")
	same.Effects[0].After, same.IntentVersion = "sha256:9", "v7"
	covered(t, later, same, true)
	covered(t, later, outOfScope("docs/b.md"), false)
	covered(t, later, outOfScope("docs/a.md", "docs/b.md"), false)
	covered(t, later, outOfScope("docs/a.md/x"), false)
	for _, change := range []func(*approval.Request){
		func(r *approval.Request) { r.Principal = "" },
		func(r *approval.Request) { r.IntentID = "INT-002" },
		func(r *approval.Request) { r.Checks[0].Hook = "ignored" },
		func(r *approval.Request) { r.Checks[0].ErrorType = "APPROVAL_REQUIRED" },
		func(r *approval.Request) { r.Once = true },
		func(r *approval.Request) { r.Checks = append(r.Checks, approval.Check{Hook: "rules"}) },
	} {
		other := outOfScope("docs/a.md")
		change(&other)
		covered(t, later, other, false)
	}
	found := standing(t, later, r.Digest, false, false)
	check.That(t, found.Approved == nil, "a grant is no approval of one call")
}

// Who waits for an answer sees a yes for the intent once its grants can let the call pass, unless whoever gave it was
// stopped before they were written.
func TestAnswerForTheIntentWaitsForItsGrants(t *testing.T) {
	d := newDesk(t)
	s := d.process()
	r := d.put(s, outOfScope("docs/a.md"))
	_, grants, err := s.Answer(r.ID, approval.Answer{Decision: approval.ForIntent, Via: approval.Inbox})
	check.Must(t, err == nil && len(grants) == 1, "%+v %v", grants, err)
	demand := func(when string, want error) {
		t.Helper()
		if a, err := d.process().AnswerOf(r.ID); !errors.Is(err, want) || err == nil && a.Decision != approval.ForIntent {
			t.Errorf("%s: %+v %v", when, a, err)
		}
	}
	demand("granted", nil)
	file := d.file("grants", grants[0].ID+".json")
	kept := d.read(file)
	check.OK(t, os.Remove(file))
	demand("not written yet", approval.ErrPending)
	d.now = d.now.Add(10 * time.Second)
	demand("never written", nil)
	d.now = d.now.Add(-10 * time.Second)
	d.write(file, kept)
	check.OK(t, s.Revoke(grants[0].ID))
	demand("revoked", nil)
}

// An answer that no call has used is listed until one has, or it expires.
func TestAnsweredListsUnusedAnswers(t *testing.T) {
	d := newDesk(t)
	s := d.process()
	demand := func(want ...string) {
		t.Helper()
		found, err := d.process().Answered()
		check.Must(t, err == nil && len(found) == len(want), "%+v %v, want %v", found, err, want)
		for i, one := range found {
			check.That(t, one.Request.ID == want[i] && one.Answer.ID == want[i], "%d: %+v, want %s", i, one, want[i])
		}
	}
	demand()
	var ids []string
	for i, decision := range []approval.Decision{approval.Once, approval.Deny, approval.ForIntent, approval.Once} {
		id := d.put(s, outOfScope(string(rune('a'+i)))).ID
		d.answer(s, id, decision)
		d.now = d.now.Add(time.Second)
		ids = append(ids, id)
	}
	d.put(s, outOfScope("pending"))
	demand(ids[0], ids[1], ids[3])
	a, err := s.AnswerOf(ids[0])
	if used, useErr := s.Use(a); err != nil || useErr != nil || !used {
		t.Fatal(err, useErr)
	}
	demand(ids[1], ids[3])
	check.OK(t, s.Revoke(ids[1]))
	demand(ids[3])
	d.now = d.now.Add(15 * time.Minute)
	demand()
}

// A check without paths is about the command, or about everything that the call changes.
func TestGrantOfACommandIsOfItsLine(t *testing.T) {
	d := newDesk(t)
	s := d.process()
	command := func(line, cwd string) approval.Request {
		return approval.Request{Tool: "execute_command", IntentID: "INT-001",
			Checks:  []approval.Check{{Hook: "command", ErrorType: "APPROVAL_REQUIRED"}},
			Effects: []approval.Effect{{Kind: "read", Path: cwd}, {Kind: "command", Line: line, Cwd: cwd}}}
	}
	d.answer(s, d.put(s, command("npm install", ".")).ID, approval.ForIntent)
	covered(t, s, command("npm install", "."), true)
	covered(t, s, command("npm install ", "."), false)
	covered(t, s, command("npm install", "sub"), false)

	whole := func(paths ...string) approval.Request {
		r := outOfScope(paths...)
		r.Checks = []approval.Check{{Hook: "approval", ErrorType: "APPROVAL_REQUIRED"}}
		return r
	}
	d.answer(s, d.put(s, whole("a", "b")).ID, approval.ForIntent)
	covered(t, s, whole("a"), true)
	covered(t, s, whole("b", "a"), true)
	covered(t, s, whole("a", "c"), false)
	covered(t, s, whole(), false)
}

func TestGrantsEndForGood(t *testing.T) {
	d := newDesk(t)
	s := d.process()
	r := d.put(s, outOfScope("a"))
	d.answer(s, r.ID, approval.ForIntent)
	grants, err := s.Grants()
	check.Must(t, err == nil && len(grants) == 1, "%+v %v", grants, err)
	name := d.file("grants", grants[0].ID+".json")
	copied := d.read(name)
	check.OK(t, d.process().Revoke(grants[0].ID))
	covered(t, s, outOfScope("a"), false)
	d.write(name, copied)
	covered(t, s, outOfScope("a"), false)
	if err := s.Revoke(grants[0].ID); !errors.Is(err, approval.ErrUnknown) {
		t.Errorf("revoked twice: %v", err)
	}

	again := d.put(s, outOfScope("a"))
	check.Must(t, again.ID != r.ID, "an answered request was put again")
	d.answer(s, again.ID, approval.ForIntent)
	covered(t, s, outOfScope("a"), true)
	grants, _ = s.Grants()
	copied = d.read(d.file("grants", grants[0].ID+".json"))
	if ended, err := s.EndIntent("INT-002"); err != nil || len(ended) != 0 {
		t.Errorf("%+v %v", ended, err)
	}
	if ended, err := s.EndIntent("INT-001"); err != nil || len(ended) != 1 {
		t.Errorf("%+v %v", ended, err)
	}
	d.write(d.file("grants", grants[0].ID+".json"), copied)
	covered(t, d.process(), outOfScope("a"), false)
}

func TestAForgedGrantCoversNothing(t *testing.T) {
	d := newDesk(t)
	s := d.process()
	d.answer(s, d.put(s, outOfScope("a")).ID, approval.ForIntent)
	grants, _ := s.Grants()
	real := d.read(d.file("grants", grants[0].ID+".json"))
	forged := "grt_" + grants[0].ID[5:] + "a"
	d.write(d.file("grants", forged+".json"), real)
	d.write(d.file("grants", "grt_aaaaaaaaaaaaaaaaaaaaaaaaaa.json"), []byte(`{"mac":"00","body":{"id":"grt_aaaaaaaaaaaaaaaaaaaaaaaaaa","intent_id":"INT-001","hook":"scope","error_type":"SCOPE_VIOLATION","path":"b"}}`))
	found, _ := d.process().Grants()
	check.That(t, len(found) == 1, "%+v", found)
	covered(t, d.process(), func() approval.Request { r := outOfScope("b"); r.Principal = ""; return r }(), false)
}

func TestWhatCanBeApprovedOnceOnly(t *testing.T) {
	d := newDesk(t)
	s := d.process()
	for _, change := range []func(*approval.Request){
		func(r *approval.Request) { r.Once = true },
		func(r *approval.Request) { r.IntentID = "" },
	} {
		r := outOfScope("a")
		change(&r)
		id := d.put(s, r).ID
		_, _, err := s.Answer(id, approval.Answer{Decision: approval.ForIntent})
		check.That(t, errors.Is(err, approval.ErrNotGrantable), "%v", err)
		d.answer(s, id, approval.Once)
	}
}

const hostile = "a\x1b[2J\x1b]0;x\x07\u202egnp.\u2066\u200b\u00ad\u0085\r\nexpires: never\nclient: you\ttab\x00\u2028"

// Whatever an agent writes, a person sees its characters, on the lines that are ours.
func TestViewCannotBeForged(t *testing.T) {
	r := approval.Request{
		Tool: hostile, Client: hostile, IntentID: "INT-001", IntentName: hostile, Reason: hostile, Name: hostile,
		Paths:   []string{hostile},
		Checks:  []approval.Check{{Hook: "scope", ErrorType: "SCOPE_VIOLATION", Reason: hostile, Paths: []string{hostile}}},
		Effects: []approval.Effect{{Kind: "modify", Path: hostile, To: hostile}, {Kind: "command", Line: hostile, Cwd: hostile, Shell: hostile}},
		Diffs:   []approval.FileDiff{{Path: hostile, Note: hostile, Hunks: "@@ -1 +1 @@\n-" + strings.ReplaceAll(hostile, "\n", "\n+") + "\n", Size: 9999, Lines: 77}},
	}
	v := approval.ViewOf(r)
	texts := []string{v.Title, v.DiffCut}
	for _, row := range v.Rows {
		texts = append(texts, row.Label, row.Text)
	}
	for _, line := range v.Diff {
		texts = append(texts, line.Text)
	}
	for _, a := range v.Answers {
		texts = append(texts, a.Title, a.Means)
	}
	for _, text := range texts {
		for _, c := range text {
			check.That(t, unicode.IsPrint(c), "%q has %U", text, c)
		}
	}
	message := v.Message(1 << 20)
	for line := range strings.Lines(message) {
		check.That(t, !strings.HasPrefix(line, "expires: never") && !strings.HasPrefix(line, "client: you"), "a line was forged: %s", line)
	}
	if !strings.Contains(message, `\u202e`) || !strings.Contains(message, `\x1b`) || !strings.Contains(v.DiffCut, "9999 bytes in all") {
		t.Errorf("%s", message)
	}
}

// A line of a file that looks like the header of a diff does not become one.
func TestDiffHeadersAreOurs(t *testing.T) {
	v := approval.ViewOf(approval.Request{Diffs: []approval.FileDiff{{Path: "a", Hunks: "@@ -1 +1 @@\n--- harmless\n+++ harmless\n+=== harmless\n"}}})
	headers := 0
	for _, line := range v.Diff {
		if line.Kind == 'f' {
			headers++
		}
	}
	check.That(t, headers == 1 && v.Diff[0].Text == "=== a", "%+v", v.Diff)
}

func TestLongTextsAreCutInTheMiddleAndSaySo(t *testing.T) {
	line := "echo " + strings.Repeat("x", 5000) + "; rm -rf /"
	v := approval.ViewOf(approval.Request{Tool: "execute_command", Effects: []approval.Effect{{Kind: "command", Line: line}}})
	for _, text := range []string{v.Title, v.Rows[0].Text} {
		check.That(t, strings.Contains(text, "characters not shown") && strings.HasSuffix(text, "rm -rf /") && len(text) <= 1500, "%s", text)
	}
	long := approval.ViewOf(approval.Request{Diffs: []approval.FileDiff{{Path: "a", Hunks: strings.Repeat("+line\n", 1000), Size: 6000, Lines: 1000}}})
	message := long.Message(500)
	if len(message) > 800 || !strings.Contains(message, "of 1001 lines of the diff are not shown here") {
		t.Errorf("%d bytes: %s", len(message), message)
	}
}

func TestViewSaysWhatEachAnswerAllows(t *testing.T) {
	v := approval.ViewOf(outOfScope("docs/a b.md"))
	check.That(t, len(v.Answers) == 3 && strings.Contains(v.Answers[1].Means, `SCOPE_VIOLATION at "docs/a b.md"`), "%+v", v.Answers)
	once := outOfScope("a")
	once.Once = true
	if v := approval.ViewOf(once); len(v.Answers) != 2 {
		t.Errorf("%+v", v.Answers)
	}
}
