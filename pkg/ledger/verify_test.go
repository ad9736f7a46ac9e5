package ledger_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/segment"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

func TestVerifyFindsEveryChangeOfAFollowedLine(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	for i := range 4 {
		appendOne(t, l, record.Record{Kind: record.KindRead, Call: fmt.Sprint(i)})
	}
	whole := w.read(tracePath)
	followed := len(whole) - len(w.lines(tracePath)[3]) - 1
	check := func(what, content string) {
		t.Helper()
		check.OK(t, os.WriteFile(w.path(tracePath), []byte(content), 0o644))
		report := w.verify()
		check.That(t, len(report.Problems) != 0, "%s is not found", what)
	}
	for i := range followed {
		if whole[i] == '\n' && i+1 < followed {
			continue // joined with the next line, below
		}
		check(fmt.Sprintf("flip of byte %d", i), whole[:i]+string(whole[i]^1)+whole[i+1:])
	}
	lines := strings.SplitAfter(whole, "\n")
	check("removal of the first", strings.Join(lines[1:], ""))
	check("removal of one between", lines[0]+lines[2]+lines[3])
	check("two lines joined", strings.TrimSuffix(lines[0], "\n")+strings.Join(lines[1:], ""))
	check("a line cut in two", lines[0][:30]+"\n"+lines[0][30:]+strings.Join(lines[1:], ""))
	w.write(tracePath, lines[3]+lines[1]+lines[0]+lines[1]+lines[2])
	w.wantRecords(4) // order and duplicates mean nothing
	w.write(tracePath, strings.Join(lines[1:], ""))
	report := w.verify()
	second := query(t, l, record.Filter{Limit: 1}).Entries[0]
	if p := report.Problems[0]; p.Kind != ledger.ProblemMissing || p.Line != 1 || p.Record != second.ID ||
		p.Segment != "agent_trace.jsonl" || !strings.Contains(p.Detail, second.Prev[0]) {
		t.Errorf("problem %+v", p)
	}
	w.write(tracePath, whole)
}

// What a record says has no record is a problem until somebody has put his name to a ledger that lacks it.
func TestUnrecordedIsAProblem(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	lookalike := mutation("INT-001", "a")
	lookalike.Detail = map[string]any{"reason": `{"gap":{"calls":9}}`, "gap": map[string]any{"calls": 9}}
	appendOne(t, l, lookalike)
	told := appendOne(t, l, record.Record{Kind: record.KindRecovered, Detail: map[string]any{
		"gap": map[string]any{"calls": 2, "decisions": 1, "since": "2026-02-18T18:30:00Z", "until": "2026-02-18T18:31:00Z"},
	}})
	appendOne(t, l, mutation("INT-001", "b"))
	w.problems = []ledger.ProblemKind{ledger.ProblemUnrecorded}
	for _, claim := range []verify.Claim{{}, {Heads: []string{told.Hash}, Lines: 2}, {Heads: []string{told.Hash}, Lines: 2, Trusted: true}} {
		report, _, err := verify.VerifyClaims(context.Background(), w.root, []verify.Claim{claim}, nil)
		check.OK(t, err)
		if claim.Trusted {
			check.That(t, len(report.Problems) == 0, "sealed, and still a problem: %+v", report.Problems)
			continue
		}
		p := report.Problems
		check.That(t, len(p) == 1 && p[0].Record == told.ID && p[0].Line == 2 && strings.Contains(p[0].Detail, "2 calls and 1 decisions"), "verify says %+v", p)
	}
}

// A record that no answer waits for is not lost without a word.
func TestLostRecordsAreTold(t *testing.T) {
	w := newWorkspace(t)
	lost := make(chan string, 10)
	var log strings.Builder
	l := w.open(ledger.Options{Lost: func(id string) { lost <- id }, Logger: zerolog.New(zerolog.SyncWriter(&log))})
	l.AppendSoon(record.Record{Kind: record.KindDecision, Decision: &record.Decision{Outcome: "refused", Reason: strings.Repeat("x", 9<<20)}})
	<-lost
	l.AppendSoon(record.Record{Kind: "no kind"})
	<-lost
	l.AppendSoon(record.Record{Kind: record.KindRead, Call: "one"})
	check.OK(t, l.Flush(context.Background()))
	check.OK(t, os.Rename(w.path(tracePath), w.path("aside")))
	check.OK(t, os.Mkdir(w.path(tracePath), 0o755))
	l.AppendSoon(record.Record{Kind: record.KindRead, Call: "two"})
	id := <-lost
	check.That(t, id != "", "a lost record that had an id is told of without it")
	l.Close(context.Background())
	l.AppendSoon(record.Record{Kind: record.KindDecision, Call: "after_close"})
	for _, want := range []string{`"call":"two"`, `"call":"after_close"`, `"kind":"no kind"`} {
		check.That(t, strings.Contains(log.String(), want), "the log lacks %s:\n%s", want, log.String())
	}
	check.Equal(t, <-lost, "", "the id of one after the end")
	check.Equal(t, len(lost), 0, "told of more")
	check.OK(t, os.Remove(w.path(tracePath)))
	check.OK(t, os.Rename(w.path("aside"), w.path(tracePath)))
}

// randomLines is a graph in which each line follows one or a few of those before it, and its heads.
func randomLines(r *rand.Rand, n int) (lines, heads []string) {
	var ids []string
	followed := map[string]bool{}
	for i := range n {
		var prev []string
		for range min(i, 1+r.IntN(10)/8) {
			p := ids[len(ids)-1-r.IntN(min(len(ids), 1+r.IntN(4)*r.IntN(4)))]
			if !slices.Contains(prev, p) {
				prev = append(prev, p)
				followed[p] = true
			}
		}
		slices.Sort(prev)
		line := fmt.Sprintf(`{"prev":[%s],"n":%d}`, quoted(prev), i)
		sum := sha256.Sum256([]byte(line))
		ids, lines = append(ids, hex.EncodeToString(sum[:])), append(lines, line)
	}
	heads = slices.DeleteFunc(ids, func(id string) bool { return followed[id] })
	slices.Sort(heads)
	return lines, heads
}

func quoted(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return `"` + strings.Join(ids, `","`) + `"`
}

// TestHeadsDoNotDependOnTheOrderOfLines also repeats some lines and puts garbage between them.
func TestHeadsDoNotDependOnTheOrderOfLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 200 {
		lines, want := randomLines(r, 1+r.IntN(60))
		switch round % 3 {
		case 1:
			slices.Reverse(lines)
		case 2:
			r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		}
		for range r.IntN(10) {
			lines = slices.Insert(lines, r.IntN(len(lines)), lines[r.IntN(len(lines))])
		}
		lines = slices.Insert(lines, r.IntN(len(lines)), "<<<<<<< ours", "")
		heads, err := ledger.FindHeads([]byte(strings.Join(lines, "\n") + "\n"))
		check.Must(t, err == nil && slices.Equal(heads, want), "round %d: heads %v, %v, want %v", round, heads, err, want)
	}
}

// TestAChainIsNotHeldForItsHeads bounds the memory of a first append, however long the file is.
func TestAChainIsNotHeldForItsHeads(t *testing.T) {
	var lines strings.Builder
	prev := ""
	for i := range 20_000 {
		line := fmt.Sprintf(`{"prev":[%s],"n":%d}`, prev, i)
		sum := sha256.Sum256([]byte(line))
		prev = `"` + hex.EncodeToString(sum[:]) + `"`
		lines.WriteString(line + "\n")
	}
	most, err := ledger.HeldForHeads([]byte(lines.String()))
	check.That(t, err == nil && most <= 2, "%d lines were held at once; %v", most, err)
}

func TestClaims(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	var hashes []string
	for i := range 6 {
		hashes = append(hashes, appendOne(t, l, record.Record{Kind: record.KindRead, Call: fmt.Sprint(i)}).Hash)
	}
	unknown := strings.Repeat("0", 64)
	for _, c := range []struct {
		name   string
		claims []verify.Claim
		holds  []bool
		sealed int
	}{
		{"none", nil, nil, 0},
		{"all", []verify.Claim{{Heads: hashes[5:], Lines: 6, Trusted: true}}, []bool{true}, 6},
		{"a part", []verify.Claim{{Heads: hashes[2:3], Lines: 3, Trusted: true}}, []bool{true}, 3},
		{"growing", []verify.Claim{{Heads: hashes[3:4], Lines: 4, Trusted: true}, {Heads: hashes[1:2], Lines: 2, Trusted: true}}, []bool{true, true}, 4},
		{"not trusted", []verify.Claim{{Heads: hashes[5:], Lines: 6}}, []bool{true}, 0},
		{"only the smaller one trusted", []verify.Claim{{Heads: hashes[5:], Lines: 6}, {Heads: hashes[:1], Lines: 1, Trusted: true}}, []bool{true, true}, 1},
		{"an unknown head", []verify.Claim{{Heads: []string{unknown, hashes[5]}, Lines: 6, Trusted: true}}, []bool{false}, 0},
		{"no hash", []verify.Claim{{Heads: []string{hashes[5] + hashes[5]}, Lines: 1, Trusted: true}}, []bool{false}, 0},
		{"more lines than there are", []verify.Claim{{Heads: hashes[5:], Lines: 7, Trusted: true}}, []bool{false}, 0},
	} {
		report, standings, err := verify.VerifyClaims(context.Background(), w.root, c.claims, nil)
		check.OK(t, err)
		var holds []bool
		broken := 0
		for i, s := range standings {
			holds = append(holds, s.Holds(c.claims[i]))
			if !holds[i] {
				broken++
			}
		}
		if !slices.Equal(holds, c.holds) || report.Sealed != c.sealed || report.Sealed+report.Unsealed != 6 || len(report.Problems) != broken {
			t.Errorf("%s: hold %v, want %v; %d sealed, want %d; problems %v", c.name, holds, c.holds, report.Sealed, c.sealed, report.Problems)
		}
	}
}

func TestHashLines(t *testing.T) {
	w := newWorkspace(t)
	l := w.open(ledger.Options{})
	at := appendOne(t, l, mutation("INT-001", "a"))
	foreign := `{"id":"x"}`
	text := "<<<<<<< HEAD\r\n" + strings.TrimSuffix(w.read(tracePath), "\n") + "\r\n\n" + foreign + "\n" + foreign[:5]
	var numbers []int
	check.OK(t, segment.HashLines(strings.NewReader(text), func(line ledger.RawLine) error {
		numbers = append(numbers, line.Number)
		check.That(t, line.Number != 2 || line.Hash.String() == at.Hash, "line 2 is %s, want %s", line.Hash, at.Hash)
		return nil
	}))
	check.That(t, slices.Equal(numbers, []int{2, 4}), "lines %v, want 2 and 4", numbers)
}

func FuzzParseHash(f *testing.F) {
	digits := strings.Repeat("0123456789abcdef", 4)
	for _, seed := range []string{digits, digits[1:], digits + "0", strings.ToUpper(digits), "", `"`, strings.Repeat("g", 64)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := record.ParseHash(text)
		check.That(t, err != nil || h.String() == text, "%q is written as %q", text, h)
	})
}

// BenchmarkVerify compares the chain alone with a chain under many claims, as seals make them.
func BenchmarkVerify(b *testing.B) {
	dir := b.TempDir()
	check.OK(b, os.Mkdir(filepath.Join(dir, ".orchestration"), 0o755))
	root := check.Value(os.OpenRoot(dir))(b)
	defer root.Close()
	l := check.Value(ledger.Open(root, ledger.Options{Durability: ledger.DurabilityOS, Revision: func() string { return "" }}))(b)
	defer l.Close(context.Background())
	var claims []verify.Claim
	for n := 1000; n <= 200_000; n += 1000 {
		for i := range 1000 {
			l.AppendSoon(mutation(fmt.Sprintf("INT-%03d", i%20), fmt.Sprintf("src/file%d.go", i%500)))
		}
		at := appendOne(b, l, mutation("INT-001", "src/last"))
		claims = append(claims, verify.Claim{Heads: []string{at.Hash}, Lines: n + n/1000, Trusted: true})
	}
	for _, c := range []struct {
		name   string
		claims []verify.Claim
	}{{"chain", nil}, {"200 seals", claims}} {
		b.Run(c.name, func(b *testing.B) {
			records := 0
			for b.Loop() {
				report, _, err := verify.VerifyClaims(context.Background(), root, c.claims, nil)
				check.OK(b, err)
				if len(report.Problems) != 0 || len(c.claims) > 0 && report.Unsealed != 0 {
					b.Fatalf("%d unsealed, problems %v", report.Unsealed, report.Problems)
				}
				records += report.Records
			}
			b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
		})
	}
}
