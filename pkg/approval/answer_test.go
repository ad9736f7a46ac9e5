package approval_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
)

// desk is one workspace and one user, on which several processes open stores.
type desk struct {
	t         *testing.T
	dir, user string
	now       time.Time
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	dir := t.TempDir()
	check.OK(t, os.Mkdir(filepath.Join(dir, ".orchestration"), 0o755))
	return &desk{t, dir, filepath.Join(t.TempDir(), "user"), time.Date(2026, 2, 18, 12, 0, 0, 0, time.UTC)}
}

// process opens a store as another process would.
func (d *desk) process() *approval.Store { return d.processOf(d.user) }

func (d *desk) processOf(user string) *approval.Store {
	d.t.Helper()
	root := check.Value(os.OpenRoot(d.dir))(d.t)
	d.t.Cleanup(func() { root.Close() })
	return approval.Open(root, approval.Options{UserDir: user, Clock: func() time.Time { return d.now }})
}

func (d *desk) file(parts ...string) string {
	return filepath.Join(append([]string{d.dir, ".orchestration/state"}, parts...)...)
}

func (d *desk) read(name string) []byte {
	d.t.Helper()
	content := check.Value(os.ReadFile(name))(d.t)
	return content
}

func (d *desk) write(name string, content []byte) {
	d.t.Helper()
	check.OK(d.t, os.WriteFile(name, content, 0o600))
}

func (d *desk) put(s *approval.Store, r approval.Request) approval.Request {
	d.t.Helper()
	stored, _, err := s.Put(r)
	check.OK(d.t, err)
	return stored
}

func (d *desk) answer(s *approval.Store, id string, decision approval.Decision) approval.Answer {
	d.t.Helper()
	a, _, err := s.Answer(id, approval.Answer{Decision: decision, By: "me", Via: approval.Inbox})
	check.OK(d.t, err)
	return a
}

// outOfScope is a request to change paths that the intent does not own.
func outOfScope(paths ...string) approval.Request {
	r := approval.Request{
		Tool: "apply_patch", Principal: approval.PrincipalMark("p"), IntentID: "INT-001", IntentVersion: "v1",
		Checks: []approval.Check{{Hook: "scope", ErrorType: "SCOPE_VIOLATION", Reason: "out of scope", Paths: paths}},
	}
	for _, p := range paths {
		r.Effects = append(r.Effects, approval.Effect{Kind: "modify", Path: p, Before: "sha256:1", After: "sha256:2"})
	}
	return r
}

// standing demands what the operator's answers come to.
func standing(t *testing.T, s *approval.Store, digest string, approved, denied bool) approval.Standing {
	t.Helper()
	found, err := s.Standing(digest)
	if err != nil || (found.Approved != nil) != approved || (found.Denied != nil) != denied {
		t.Fatalf("standing: %+v %v, want approved=%v denied=%v", found, err, approved, denied)
	}
	return found
}

func TestOneProcessAsksAnotherAnswersOneUses(t *testing.T) {
	d := newDesk(t)
	server, cli, other := d.process(), d.process(), d.process()
	r := d.put(server, outOfScope("docs/a.md"))
	standing(t, server, r.Digest, false, false)
	if _, err := server.AnswerOf(r.ID); !errors.Is(err, approval.ErrPending) {
		t.Fatal(err)
	}
	pending, err := cli.Pending()
	check.Must(t, err == nil && len(pending) == 1 && pending[0].ID == r.ID && pending[0].Path() == "docs/a.md", "%+v %v", pending, err)
	d.answer(cli, r.ID, approval.Once)
	if _, _, err := other.Answer(r.ID, approval.Answer{Decision: approval.Deny, Via: approval.Inbox}); !errors.Is(err, approval.ErrAnswered) {
		t.Errorf("answered twice: %v", err)
	}
	if pending, _ := cli.Pending(); len(pending) != 0 {
		t.Errorf("still pending: %+v", pending)
	}
	a := standing(t, other, r.Digest, true, false).Approved
	if used, err := other.Use(*a); err != nil || !used {
		t.Fatal(used, err)
	}
	if used, err := server.Use(*a); err != nil || used {
		t.Errorf("used twice: %v", err)
	}
	standing(t, server, r.Digest, false, false)
	check.That(t, cli.Spent(r.ID), "nobody knows that it was used")
	if _, err := cli.Get(r.ID); !errors.Is(err, approval.ErrUnknown) {
		t.Errorf("%v", err)
	}
}

func TestManyUseOneAnswerOnce(t *testing.T) {
	d := newDesk(t)
	asking := d.process()
	r := d.put(asking, outOfScope("a"))
	a := d.answer(asking, r.ID, approval.Once)
	var used atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		s := d.process()
		wg.Go(func() {
			if ok, err := s.Use(a); err != nil {
				t.Error(err)
			} else if ok {
				used.Add(1)
			}
		})
	}
	wg.Wait()
	check.That(t, used.Load() == 1, "used %d times", used.Load())
}

func TestManyAnswerOnce(t *testing.T) {
	d := newDesk(t)
	r := d.put(d.process(), outOfScope("a"))
	var given atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		s := d.process()
		wg.Go(func() {
			_, _, err := s.Answer(r.ID, approval.Answer{Decision: approval.Once, Via: approval.Inbox})
			if err == nil {
				given.Add(1)
			} else if !errors.Is(err, approval.ErrAnswered) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	check.That(t, given.Load() == 1, "answered %d times", given.Load())
}

// Whoever can write state/ can copy files, put them back, rename and alter them.
func TestFilesInStateCannotGiveAnApproval(t *testing.T) {
	d := newDesk(t)
	s := d.process()
	yes := d.put(s, outOfScope("docs/a.md"))
	target := d.put(s, outOfScope(".envrc"))
	a := d.answer(s, yes.ID, approval.Once)
	file := d.file("approvals", yes.ID+".answer.json")
	copied, request := d.read(file), d.read(d.file("approvals", yes.ID+".json"))

	t.Run("made up", func(t *testing.T) {
		d.write(d.file("approvals", target.ID+".answer.json"), []byte(`{"mac":"","body":{"id":"`+target.ID+`","digest":"`+target.Digest+`","decision":"approve_once","via":"inbox","answered_at":"2026-02-18T12:00:00Z","expires_at":"2036-02-18T12:00:00Z"}}`))
		standing(t, d.process(), target.Digest, false, false)
	})
	t.Run("another's", func(t *testing.T) {
		d.write(d.file("approvals", target.ID+".answer.json"), copied)
		standing(t, d.process(), target.Digest, false, false)
	})
	t.Run("altered", func(t *testing.T) {
		d.write(d.file("approvals", target.ID+".answer.json"), []byte(strings.ReplaceAll(strings.ReplaceAll(string(copied), yes.ID, target.ID), yes.Digest, target.Digest)))
		standing(t, d.process(), target.Digest, false, false)
	})
	t.Run("does not keep the operator from answering", func(t *testing.T) {
		d.answer(d.process(), target.ID, approval.Deny)
		standing(t, d.process(), target.Digest, false, true)
	})
	t.Run("of another key", func(t *testing.T) {
		if _, err := d.processOf(filepath.Join(t.TempDir(), "other")).Get(yes.ID); !errors.Is(err, approval.ErrUnknown) {
			t.Error(err)
		}
	})
	t.Run("of another workspace", func(t *testing.T) {
		elsewhere := newDesk(t)
		elsewhere.user = d.user
		there := elsewhere.process()
		elsewhere.put(there, outOfScope("x"))
		elsewhere.write(elsewhere.file("approvals", yes.ID+".json"), request)
		elsewhere.write(elsewhere.file("approvals", yes.ID+".answer.json"), copied)
		standing(t, there, yes.Digest, false, false)
		if _, err := there.Get(yes.ID); !errors.Is(err, approval.ErrUnknown) {
			t.Error(err)
		}
	})
	t.Run("an altered request is none", func(t *testing.T) {
		id := d.put(s, outOfScope("b")).ID
		name := d.file("approvals", id+".json")
		d.write(name, []byte(strings.Replace(string(d.read(name)), "out of scope", "harmless", 1)))
		if _, err := d.process().Get(id); !errors.Is(err, approval.ErrUnknown) {
			t.Error(err)
		}
		if _, _, err := d.process().Answer(id, approval.Answer{Decision: approval.Once}); !errors.Is(err, approval.ErrUnknown) {
			t.Error(err)
		}
	})
	t.Run("put back after use", func(t *testing.T) {
		if used, err := s.Use(a); err != nil || !used {
			t.Fatal(used, err)
		}
		d.write(file, copied)
		d.write(d.file("approvals", yes.ID+".json"), request)
		standing(t, d.process(), yes.Digest, false, false)
		if used, err := d.process().Use(a); err != nil || used {
			t.Errorf("a used answer came back: %v", err)
		}
		if _, _, err := d.process().Answer(yes.ID, approval.Answer{Decision: approval.Once}); !errors.Is(err, approval.ErrAnswered) {
			t.Errorf("a used request was answered again: %v", err)
		}
	})
}

func TestAnswersExpire(t *testing.T) {
	d := newDesk(t)
	s := d.process()
	r := d.put(s, outOfScope("a"))
	a := d.answer(s, r.ID, approval.Once)
	d.now = d.now.Add(15*time.Minute - time.Second)
	standing(t, s, r.Digest, true, false)
	d.now = d.now.Add(time.Second)
	standing(t, s, r.Digest, false, false)
	if used, _ := s.Use(a); used {
		t.Error("an expired answer was used")
	}
	d.now = d.now.Add(-time.Hour)
	if used, _ := s.Use(a); used {
		t.Error("an answer was used before it was given")
	}
}

func TestADenialStandsUntilItIsRevoked(t *testing.T) {
	d := newDesk(t)
	s := d.process()
	r := d.put(s, outOfScope("a"))
	if _, _, err := s.Answer(r.ID, approval.Answer{Decision: approval.Deny, Reason: "not today"}); err != nil {
		t.Fatal(err)
	}
	found := standing(t, s, r.Digest, false, true)
	check.That(t, found.Denied.Reason == "not today", "%+v", found.Denied)
	check.OK(t, s.Revoke(r.ID))
	standing(t, s, r.Digest, false, false)
	if err := s.Revoke(r.ID); !errors.Is(err, approval.ErrUnknown) {
		t.Errorf("revoked twice: %v", err)
	}
}

// An approval is of exactly what was shown.
func TestDigestCoversTheCall(t *testing.T) {
	base := outOfScope("a")
	for name, change := range map[string]func(*approval.Request){
		"principal": func(r *approval.Request) { r.Principal = approval.PrincipalMark("q") },
		"tool":      func(r *approval.Request) { r.Tool = "write_to_file" },
		"intent":    func(r *approval.Request) { r.IntentID = "INT-002" },
		"version":   func(r *approval.Request) { r.IntentVersion = "v2" },
		"path":      func(r *approval.Request) { r.Effects[0].Path = "b" },
		"before":    func(r *approval.Request) { r.Effects[0].Before = "sha256:3" },
		"after":     func(r *approval.Request) { r.Effects[0].After = "sha256:3" },
		"kind":      func(r *approval.Request) { r.Effects[0].Kind = "delete" },
		"check":     func(r *approval.Request) { r.Checks[0].Hook = "ignored" },
		"command":   func(r *approval.Request) { r.Effects[0].Line = "rm -rf /" },
		"time":      func(r *approval.Request) { r.Effects[0].Timeout = time.Second },
	} {
		other := outOfScope("a")
		change(&other)
		check.That(t, other.ComputeDigest() != base.ComputeDigest(), "%s is not covered", name)
	}
	same := outOfScope("a")
	same.Session, same.Client, same.Checks[0].Reason = "s", "c", "in other words"
	check.That(t, same.ComputeDigest() == base.ComputeDigest(), "what is no part of the call changes the digest")
}

func TestStateIsSingleUseAndItsOwners(t *testing.T) {
	d := newDesk(t)
	asks, other := d.process(), d.process()
	r := d.put(asks, outOfScope("a"))
	seal := func() string {
		t.Helper()
		return check.Value(asks.SealState(r, time.Minute))(t)
	}
	bad := func(s *approval.Store, token, principal, what string) {
		t.Helper()
		if _, err := s.RedeemState(token, principal); !errors.Is(err, approval.ErrState) {
			t.Errorf("%s: %v", what, err)
		}
	}
	token := seal()
	bad(other, token, approval.PrincipalMark("q"), "another principal")
	for i := 0; i < len(token); i += 7 {
		swapped := "A"
		if token[i] == 'A' {
			swapped = "B"
		}
		bad(other, token[:i]+swapped+token[i+1:], r.Principal, "altered")
	}
	bad(other, "", r.Principal, "empty")
	bad(other, token[:20], r.Principal, "cut")
	bad(d.processOf(filepath.Join(t.TempDir(), "x")), token, r.Principal, "another user")
	elsewhere := newDesk(t)
	elsewhere.user = d.user
	bad(elsewhere.process(), token, r.Principal, "another workspace")
	if got, err := other.RedeemState(token, r.Principal); err != nil || got.ID != r.ID {
		t.Fatalf("another process of the user: %v", err)
	}
	bad(other, token, r.Principal, "replayed")
	bad(asks, token, r.Principal, "replayed where it was made")
	late := seal()
	d.now = d.now.Add(time.Minute)
	bad(asks, late, r.Principal, "expired")
}
