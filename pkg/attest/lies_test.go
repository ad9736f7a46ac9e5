package attest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/attest"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
)

// signed makes an envelope by hand, as the DSSE specification has it, around a statement that may lie.
func (a *author) signed(st attest.Statement) []byte {
	a.t.Helper()
	payload := check.Value(json.Marshal(st))(a.t)
	payload = append(payload, '\n')
	sig := check.Value(a.key.Sign(fmt.Appendf(nil, "DSSEv1 28 application/vnd.in-toto+json %d %s", len(payload), payload)))(a.t)
	text := check.Value(json.Marshal(map[string]any{"payload": payload}))(a.t)
	quoted := strings.TrimSuffix(strings.TrimPrefix(string(text), `{"payload":`), "}")
	signature := check.Value(json.Marshal(sig))(a.t)
	return fmt.Appendf(nil, `{"payloadType":"application/vnd.in-toto+json","payload":%s,"signatures":[{"keyid":"%s","sig":%s}]}`+"\n",
		quoted, attest.SealKey(a.key.Public()).ID(), signature)
}

// statementIn reads an envelope by hand.
func statementIn(t testing.TB, text []byte) (st attest.Statement) {
	t.Helper()
	var e struct{ Payload []byte }
	check.OK(t, json.Unmarshal(text, &e))
	check.OK(t, json.Unmarshal(e.Payload, &st))
	return st
}

// TestOneStatement is what holds of one.
func TestOneStatement(t *testing.T) {
	t.Parallel()
	a, text, p := finished(t, "sha1", true)
	for name, holds := range map[string]func(*testing.T, *author, []byte, *place){
		"the signer cannot lie": theSignerCannotLie, "keys are told apart": keysAreToldApart, "another version measures": anotherVersionMeasures,
		"seals of a trusted key": sealsOfATrustedKey, "what is not here": whatIsNotHere,
	} {
		t.Run(name, func(t *testing.T) { holds(t, a, text, p) })
	}
}

// theSignerCannotLie has the holder of the key sign what is not so; without ORCHESTRA_LONG every second lie.
func theSignerCannotLie(t *testing.T, a *author, text []byte, p *place) {
	key := attest.SealKey(a.key.Public())
	base := a.git("rev-parse", "main")
	lies := map[string]func(st *attest.Statement){
		"nothing":              func(*attest.Statement) {},
		"commit":               func(st *attest.Statement) { st.Subject[0].Digest["gitCommit"] = base },
		"tree":                 func(st *attest.Statement) { st.Subject[1].Digest["gitTree"] = strings.Repeat("0", 40) },
		"a file's hash":        func(st *attest.Statement) { st.Subject[4].Digest["sha256"] = strings.Repeat("0", 64) },
		"a file's name":        func(st *attest.Statement) { st.Subject[4].Name = "src/z.txt" },
		"a file less":          func(st *attest.Statement) { st.Subject = st.Subject[:4] },
		"a file more":          func(st *attest.Statement) { st.Subject = append(st.Subject, st.Subject[4]) },
		"a deletion less":      func(st *attest.Statement) { st.Predicate.Range.Deleted = []string{} },
		"another head":         func(st *attest.Statement) { st.Predicate.Range.Head = a.git("rev-parse", "work~1") },
		"another merge base":   func(st *attest.Statement) { st.Predicate.Range.MergeBase = st.Predicate.Range.Head },
		"a commit less":        func(st *attest.Statement) { st.Predicate.Range.Commits = 1 },
		"a line less":          func(st *attest.Statement) { st.Predicate.Ledger.Lines-- },
		"a record less":        func(st *attest.Statement) { st.Predicate.Ledger.Records-- },
		"the ledger's digest":  func(st *attest.Statement) { st.Predicate.Ledger.Digest = strings.Repeat("0", 64) },
		"no heads":             func(st *attest.Statement) { st.Predicate.Ledger.Heads = []string{} },
		"an unknown head":      func(st *attest.Statement) { st.Predicate.Ledger.Heads = []string{strings.Repeat("0", 64)} },
		"a seal less":          func(st *attest.Statement) { st.Predicate.Seals = []attest.Seal{} },
		"more is sealed":       func(st *attest.Statement) { st.Predicate.Seals[0].Lines++ },
		"the policy":           func(st *attest.Statement) { st.Predicate.Policy.Base = st.Subject[4].Digest },
		"no policy":            func(st *attest.Statement) { st.Predicate.Policy.Head = map[string]string{} },
		"no refusal":           func(st *attest.Statement) { st.Predicate.Decisions.Refused = 0 },
		"another approval":     func(st *attest.Statement) { st.Predicate.Decisions.Approvals = []string{"apr_8"} },
		"another intent":       func(st *attest.Statement) { st.Predicate.Intents[0].ID = "INT-002" },
		"a better coverage":    func(st *attest.Statement) { st.Predicate.Coverage.Traced++ },
		"a file's coverage":    func(st *attest.Statement) { st.Predicate.Coverage.Files[0].Traced++ },
		"no errors":            func(st *attest.Statement) { st.Predicate.Coverage.Errors = -1 },
		"another type":         func(st *attest.Statement) { st.PredicateType = "https://slsa.dev/provenance/v1" },
		"a commit by its name": func(st *attest.Statement) { st.Predicate.Range.Head = "work" },
	}
	for i, name := range slices.Sorted(maps.Keys(lies)) {
		if !check.Long() && i%2 == 0 && name != "nothing" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			st := statementIn(t, text)
			lies[name](&st)
			r, err := p.verify(a.signed(st), key)
			caught := err != nil || !r.Holds && len(r.Contradictions) > 0
			check.That(t, caught != (name == "nothing"), "%v, %+v", err, r)
		})
	}
}

// keysAreToldApart by who signed.
func keysAreToldApart(t *testing.T, a *author, text []byte, p *place) {
	stranger := check.Value(seal.CreateKey(t.TempDir(), "bob"))(t)
	other := attest.SealKey(stranger.Public())
	if _, err := p.verify(text, other); !errors.Is(err, attest.ErrForged) {
		t.Errorf("another key is required: %v", err)
	}
	if r, err := p.verify(text, other, attest.SealKey(a.key.Public())); err != nil || !r.Holds {
		t.Errorf("one of two keys: %v", err)
	}
	opts := attest.VerifyOptions{Trusted: []attest.PublicKey{other}, Version: version}
	if _, err := attest.Verify(t.Context(), p.root, text, opts); !errors.Is(err, attest.ErrNoKey) || attest.Contradicted(err) {
		t.Errorf("no trusted key is the one: %v", err)
	}
}

// anotherVersionMeasures: what the program's version decides is not told by another one, and contradicts nothing.
func anotherVersionMeasures(t *testing.T, a *author, text []byte, p *place) {
	st := statementIn(t, text)
	st.Predicate.Tool.Version = "0.9"
	key := attest.SealKey(a.key.Public())
	if r, err := p.verify(a.signed(st), key); err != nil || !r.Holds {
		t.Errorf("the same measure: %v %+v", err, r)
	}
	st.Predicate.Coverage.Traced--
	r, err := p.verify(a.signed(st), key)
	if check.OK(t, err); r.Holds || len(r.Unknown) != 1 || len(r.Contradictions) != 0 {
		t.Errorf("another measure: unknown %q, contradictions %q", r.Unknown, r.Contradictions)
	}
}

// TestRecordsThatWereKeptBack still have their identity in the digest.
func TestRecordsThatWereKeptBack(t *testing.T) {
	t.Parallel()
	a := newAuthor(t, "sha1", true)
	a.work()
	a.commit("second")
	r := a.judged(gitref.Withheld{Decisions: true})
	if r.Holds || len(r.Contradictions) > 0 || len(r.Unknown) == 0 || !strings.Contains(r.Unknown[0], "were kept back") {
		t.Errorf("unknown %q, contradictions %q", r.Unknown, r.Contradictions)
	}
}

// TestWhatThePersonDidIsNamed: a hand between two records, and a file that no record knows.
func TestWhatThePersonDidIsNamed(t *testing.T) {
	t.Parallel()
	a := newAuthor(t, "sha1", true)
	a.traced("src/a.txt", lines(1, 10))
	a.write("src/a.txt", lines(0, 10))
	a.traced("src/a.txt", lines(0, 9))
	a.traced("src/twice.txt", "one\n")
	a.traced("src/twice.txt", "one\ntwo\n")
	a.write("src/hand.txt", "by hand\n")
	a.commit("one")
	r := a.judged(gitref.Withheld{})
	if !r.Holds || r.Replay.Exact || len(r.Replay.Taken) != 2 || len(r.Replay.Files) != 1 {
		t.Errorf("holds %v (%q), replay %+v", r.Holds, r.Contradictions, r.Replay)
	}
	said := strings.Join(r.Unproven, "\n")
	for _, want := range []string{
		"src/a.txt was not replayed", "src/hand.txt was not replayed", "2 of 2 changes of src/twice.txt were followed by their hashes alone",
		"3 of 15 changed lines are explained by no record",
	} {
		check.That(t, strings.Contains(said, want), "it does not say %q:\n%s", want, said)
	}
}

// TestARecordThatLies says other lines than its contents differ in.
func TestARecordThatLies(t *testing.T) {
	t.Parallel()
	a := newAuthor(t, "sha1", true)
	a.traced("src/new.txt", "one\n")
	a.commit("one")
	a.write("src/new.txt", "one\ntwo\n")
	a.changed("write_to_file", record.Change{Change: change.Change{
		Op: change.Modified, Path: "src/new.txt", Before: a.version("one\n"), After: a.version("one\ntwo\n"), Hunks: [][4]int{{1, 1, 1, 1}},
	}})
	a.commit("two")
	r := a.judged(gitref.Withheld{})
	if r.Holds || len(r.Contradictions) != 1 || !strings.Contains(r.Contradictions[0], "differ in other lines than the record says") {
		t.Errorf("contradictions %q, replay %+v", r.Contradictions, r.Replay)
	}
}
