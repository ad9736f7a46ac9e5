package seal_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// strength is a way to verify.
type strength int

const (
	keyless   strength = iota // the chain only
	trusting                  // with a public key that the reader trusts
	requiring                 // and a seal by it required
	nobody                    // what none of them detects
)

// sealed is a workspace with three sealed records, then two that are not.
func sealed(t *testing.T) *workspace {
	w := sealedOf(t, "one", "two", "three")
	w.append("four", "five")
	return w
}

// attacks says for each attack which strength is the first to detect it. README.md has the same table.
var attacks = map[string]struct {
	does  func(w *workspace)
	first strength
}{
	"nothing": {func(*workspace) {}, nobody},
	"reorder lines": {func(w *workspace) {
		lines := w.lines()
		slices.Reverse(lines)
		w.write(tracePath, strings.Join(withEnds(lines), ""))
	}, nobody},
	"duplicate a line": {func(w *workspace) { w.write(tracePath, w.read(tracePath)+w.lines()[1]) }, nobody},
	"edit a sealed record with a successor": {func(w *workspace) {
		w.write(tracePath, strings.Replace(w.read(tracePath), `"call":"two"`, `"call":"TWO"`, 1))
	}, keyless},
	"remove a sealed record with a successor": {func(w *workspace) {
		w.write(tracePath, strings.Join(slices.Delete(w.lines(), 1, 2), ""))
	}, keyless},
	"edit an unsealed record with a successor": {func(w *workspace) {
		w.write(tracePath, strings.Replace(w.read(tracePath), `"call":"four"`, `"call":"FOUR"`, 1))
	}, keyless},
	"edit a sealed record and compute the chain again": {func(w *workspace) {
		w.write(tracePath, recompute(edited(w.lines(), "two")))
	}, trusting},
	"remove a sealed record and compute the chain again": {func(w *workspace) {
		w.write(tracePath, recompute(slices.Delete(w.lines(), 0, 1)))
	}, trusting},
	"truncate into the sealed records": {func(w *workspace) { w.write(tracePath, strings.Join(w.lines()[:2], "")) }, trusting},
	"remove the ledger":                {func(w *workspace) { check.OK(w.t, os.Remove(w.path(tracePath))) }, trusting},
	"write another ledger": {func(w *workspace) {
		check.OK(w.t, os.Remove(w.path(tracePath)))
		w.append("one", "two", "three", "four", "five")
	}, trusting},
	"change the text of a seal": {func(w *workspace) {
		name := onlySeal(w)
		w.write(name, strings.Replace(w.read(name), "\n3\n", "\n2\n", 1))
	}, trusting},
	"replace a public key under its name": {func(w *workspace) {
		own := w.key.Public().ID()
		w.write(sealsPath+"/keys/"+own, newKey(w.t, w.t.TempDir(), "alice").Public().String()+"\n")
	}, trusting},
	"truncate and remove all seals": {func(w *workspace) {
		w.write(tracePath, strings.Join(w.lines()[:2], ""))
		check.OK(w.t, os.RemoveAll(w.path(sealsPath)))
	}, requiring},
	"rewrite all, and seal it with another key that replaces the first": {func(w *workspace) {
		w.write(tracePath, recompute(edited(w.lines(), "two")))
		check.OK(w.t, os.RemoveAll(w.path(sealsPath)))
		w.sealBy(newKey(w.t, w.t.TempDir(), "alice"))
	}, requiring},
	"remove an archive":   {func(w *workspace) { check.OK(w.t, os.Remove(w.archived()[0])) }, keyless},
	"truncate an archive": {func(w *workspace) { check.OK(w.t, os.Truncate(w.archived()[0], 200)) }, keyless},
	"change a byte of an archive": {func(w *workspace) {
		name := w.archived()[0]
		content := check.Value(os.ReadFile(name))(w.t)
		content[len(content)-5] ^= 1
		check.OK(w.t, os.WriteFile(name, content, 0o644))
	}, keyless},
	"swap two archives": {func(w *workspace) {
		names := w.archived()
		check.OK(w.t, os.Rename(names[0], w.path("x")))
		check.OK(w.t, os.Rename(names[1], names[0]))
		check.OK(w.t, os.Rename(w.path("x"), names[1]))
	}, keyless},
	"copy an archive to another name": {func(w *workspace) {
		name := w.archived()[0]
		content := check.Value(os.ReadFile(name))(w.t)
		check.OK(w.t, os.WriteFile(filepath.Join(filepath.Dir(name), "20200101T000000.000Z-0000000000000000.jsonl.zst"), content, 0o644))
	}, keyless},
	"edit a record in an archive that is packed anew under the name it must have": {func(w *workspace) {
		name := w.archived()[0]
		lines := w.unpacked(name)
		check.OK(w.t, os.Remove(name))
		w.pack(strings.Join(edited(lines, "two"), ""))
	}, keyless},
	"rewrite archives and file and compute the chain again": {func(w *workspace) {
		var lines []string
		for _, name := range w.archived() {
			lines = append(lines, w.unpacked(name)...)
			check.OK(w.t, os.Remove(name))
		}
		all := strings.SplitAfter(recompute(edited(append(lines, w.lines()...), "two")), "\n")
		w.pack(strings.Join(all[:3], ""))
		w.write(tracePath, strings.Join(all[3:], ""))
	}, trusting},
	"put the lines of an archive back into the file too": {func(w *workspace) {
		name := w.archived()[0]
		w.write(tracePath, strings.Join(w.unpacked(name), "")+w.read(tracePath))
	}, nobody},
	"remove an unsealed head": {func(w *workspace) { w.write(tracePath, strings.Join(w.lines()[:4], "")) }, nobody},
	"edit an unsealed head": {func(w *workspace) {
		w.write(tracePath, strings.Replace(w.read(tracePath), `"call":"five"`, `"call":"FIVE"`, 1))
	}, nobody},
	"edit the unsealed records and compute the chain again": {func(w *workspace) {
		w.write(tracePath, recompute(edited(w.lines(), "four")))
	}, nobody},
	"append a record that nobody made": {func(w *workspace) { w.append("six") }, nobody},
	"put back an earlier state of ledger and seals together": {func(w *workspace) {
		ledgerThen, sealThen := w.read(tracePath), onlySeal(w)
		w.seal()
		w.write(tracePath, ledgerThen)
		for _, name := range allSeals(w) {
			if name != sealThen {
				check.OK(w.t, os.Remove(w.path(name)))
			}
		}
	}, nobody},
}

func withEnds(lines []string) []string {
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\n") + "\n"
	}
	return lines
}

func edited(lines []string, call string) []string {
	for i, line := range lines {
		lines[i] = strings.Replace(line, `"call":"`+call+`"`, `"call":"other"`, 1)
	}
	return lines
}

func allSeals(w *workspace) []string {
	w.t.Helper()
	found := check.Value(filepath.Glob(w.path(sealsPath + "/*.note")))(w.t)
	for i, name := range found {
		found[i] = sealsPath + "/" + filepath.Base(name)
	}
	return found
}

func onlySeal(w *workspace) string {
	w.t.Helper()
	found := allSeals(w)
	check.Equal(w.t, len(found), 1, "seals")
	return found[0]
}

func TestAttacksAreDetectedByTheStrengthThatIsPromised(t *testing.T) {
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			w := sealed(t)
			attack.does(w)
			chain := check.Value(verify.Verify(context.Background(), w.root))(t)
			own, report := []seal.PublicKey{w.key.Public()}, w.verify()
			if attack.first > trusting && (report.Unsealed == 0 || len(report.Unproven) == 0) {
				t.Errorf("what is not detected is not said: unsealed %d, not proven: %v", report.Unsealed, report.Unproven)
			}
			found := map[strength][]ledger.Problem{
				keyless: chain.Problems, trusting: report.Problems,
				requiring: w.verifyWith(seal.VerifyOptions{Required: own}).Problems,
			}
			for s, problems := range found {
				detected := len(problems) > 0
				check.That(t, detected == (s >= attack.first), "strength %d: detected is %v: %v", s, detected, problems)
			}
		})
	}
}

func TestTheTableNamesEveryAttack(t *testing.T) {
	text := check.Value(os.ReadFile("README.md"))(t)
	words := map[strength]string{keyless: "keyless", trusting: "trusting", requiring: "requiring"}
	for name, attack := range attacks {
		word, detected := words[attack.first]
		switch row := "| " + name + " | "; {
		case name == "nothing":
		case detected && !strings.Contains(string(text), row+word+" |"):
			t.Errorf("it does not say that %q is detected from %s", name, word)
		case !detected && !strings.Contains(string(text), row+"not") && !strings.Contains(string(text), row+"harmless"):
			t.Errorf("it does not say that %q is not detected", name)
		}
	}
}

// bits are those to flip of each byte.
func bits() []int {
	if check.Long() {
		return []int{0, 1, 2, 3, 4, 5, 6, 7}
	}
	return []int{0}
}

func TestEveryFlippedBitOfSealedRecordsIsFound(t *testing.T) {
	w := sealedOf(t, "one", "two")
	whole := w.read(tracePath)
	for i := range whole {
		for _, bit := range bits() {
			w.write(tracePath, whole[:i]+string([]byte{whole[i] ^ 1<<bit})+whole[i+1:])
			if report := w.verify(); len(report.Problems) == 0 || report.Sealed != 0 {
				t.Errorf("bit %d of byte %d: %d sealed, problems %v", bit, i, report.Sealed, report.Problems)
			}
		}
	}
}

func TestEveryTruncationOfSealedRecordsIsFound(t *testing.T) {
	w := sealedOf(t, "one", "two")
	whole := w.read(tracePath)
	for i := range whole[:len(whole)-1] {
		w.write(tracePath, whole[:i])
		if report := w.verify(); len(report.Problems) == 0 || report.Sealed != 0 {
			t.Errorf("cut at %d: %d sealed, problems %v", i, report.Sealed, report.Problems)
		}
	}
	w.write(tracePath, whole[:len(whole)-1]) // all records are whole without the last newline
	if report := w.verify(); len(report.Problems) != 0 || report.Sealed != 2 {
		t.Errorf("without the last newline: %d sealed, problems %v", report.Sealed, report.Problems)
	}
}

func TestNoChangedByteOfASealMakesItCount(t *testing.T) {
	w := sealedOf(t, "one", "two")
	name := onlySeal(w)
	whole := w.read(name)
	spare := len(whole) - 3 // base64 has unused bits in front of "=\n": another spelling of the same signature
	for i := range whole {
		for _, bit := range bits() {
			w.write(name, whole[:i]+string([]byte{whole[i] ^ 1<<bit})+whole[i+1:])
			if report := w.verify(); report.Sealed != 0 && i != spare {
				t.Errorf("bit %d of byte %d: %d records still count as sealed", bit, i, report.Sealed)
			}
		}
		w.write(name, whole[:i])
		if report := w.verify(); report.Sealed != 0 {
			t.Errorf("cut at %d: %d records still count as sealed", i, report.Sealed)
		}
	}
}
