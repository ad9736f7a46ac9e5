package seal_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/mend"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/seal"
)

func TestSealAndVerify(t *testing.T) {
	w, made := sealedWith(t, "one", "two", "three")
	check.That(t, made.Lines == 3 && len(made.Heads) == 1 && !made.Already, "sealed %+v", made)
	digest := sha256.Sum256([]byte(w.read(made.File)))
	check.Equal(t, made.File, fmt.Sprintf("%s/20260218T183100Z-%x.note", sealsPath, digest[:6]), "the seal is")
	report := w.verify()
	check.That(t, report.Sealed == 3 && report.Unsealed == 0 && len(report.Problems)+len(report.Unproven) == 0, "%+v", report)
	again := w.seal()
	check.That(t, again.Already && again.File == made.File, "sealed again: %+v", again)
	w.append("four")
	w.seal()
	w.append("five", "six")
	report = w.verify()
	check.That(t, report.Sealed == 4 && report.Unsealed == 2 && len(report.Seals) == 2 && len(report.Problems) == 0, "%+v", report)
}

// Two people who seal the same heads in the same second do not stand in each other's way.
func TestSealsOfSeveralKeysStandBesideEachOther(t *testing.T) {
	w := newWorkspace(t)
	w.append("one")
	first := w.seal()
	w.key = newKey(t, t.TempDir(), "other")
	second := w.seal()
	check.That(t, !second.Already && second.File != first.File, "%+v beside %+v", second, first)
	report := w.verify()
	check.That(t, len(report.Seals) == 2 && len(report.Problems) == 0, "%+v", report)
}

func TestASealIsANoteThatOtherProgramsCanCheck(t *testing.T) {
	w, made := sealedWith(t, "one")
	verifier := check.Value(note.NewVerifier(strings.TrimSpace(w.read(sealsPath + "/keys/" + w.key.Public().ID()))))(t)
	opened := check.Value(note.Open([]byte(w.read(made.File)), note.VerifierList(verifier)))(t)
	check.Equal(t, opened.Text, "orchestra-mcp ledger seal v1\n2026-02-18T18:31:00Z\n1\n"+made.Heads[0]+"\n", "the text is")
}

func TestKeysThatTheReaderDoesNotTrustProveNothing(t *testing.T) {
	w := sealedOf(t, "one", "two")
	report := w.verifyWith(seal.VerifyOptions{})
	s := report.Seals[0]
	if report.Sealed != 0 || s.Trust != seal.RepositoryKey || !s.Holds || len(report.Problems) != 0 {
		t.Errorf("with the repository's key: %+v", report)
	}
	said := strings.Join(report.Unproven, "\n")
	check.That(t, strings.Contains(said, w.key.Public().ID()), "not proven: %s", said)
	check.OK(t, os.RemoveAll(w.path(sealsPath+"/keys")))
	report = w.verifyWith(seal.VerifyOptions{})
	if s = report.Seals[0]; report.Sealed != 0 || s.Trust != seal.UnknownKey || s.Holds || s.Key != w.key.Public().ID() {
		t.Errorf("with no key: %+v", report)
	}
	w.write(tracePath, "") // a seal that cannot be checked accuses nobody
	if report = w.verifyWith(seal.VerifyOptions{}); len(report.Problems) != 0 {
		t.Errorf("problems %v", report.Problems)
	}
}

func TestKeysOfOthersAreTrustedOnceTheUserHasThem(t *testing.T) {
	w := newWorkspace(t)
	w.append("one")
	bob := newKey(t, t.TempDir(), "bob")
	w.sealBy(bob)
	known := filepath.Join(w.user, "seal-keys")
	check.OK(t, os.Mkdir(known, 0o700))
	check.OK(t, os.WriteFile(filepath.Join(known, "bob"), []byte(bob.Public().String()+"\n"), 0o600))
	keys := check.Value(seal.KnownKeys(w.user))(t)
	report := w.verifyWith(seal.VerifyOptions{Trusted: keys})
	check.That(t, len(keys) == 2 && report.Sealed == 1, "%d keys, %d sealed", len(keys), report.Sealed)
	check.OK(t, os.WriteFile(filepath.Join(known, "broken"), []byte("bob+1+x"), 0o600))
	if _, err := seal.KnownKeys(w.user); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("a broken key: %v", err)
	}
	if keys, err := seal.KnownKeys(""); len(keys) != 0 || err != nil {
		t.Errorf("no directory: %v %v", keys, err)
	}
}

func TestBranchesSealedApartStayProven(t *testing.T) {
	w := newWorkspace(t)
	w.append("base")
	base := w.read(tracePath)
	w.append("ours", "ours")
	w.seal()
	ours := w.lines()[1:]
	w.write(tracePath, base)
	check.OK(t, os.Rename(w.path(sealsPath), w.path(".orchestration/away")))
	w.append("theirs", "theirs", "theirs")
	w.seal()
	for _, name := range []string{"away"} {
		for _, e := range entries(t, w.path(".orchestration/"+name)) {
			if strings.HasSuffix(e, ".note") {
				check.OK(t, os.Rename(w.path(".orchestration/"+name+"/"+e), w.path(sealsPath+"/"+e)))
			}
		}
	}
	w.write(tracePath, w.read(tracePath)+strings.Join(withEnds(slices.Clone(ours)), ""))
	if report := w.verify(); report.Sealed != 6 || len(report.Heads) != 2 || len(report.Problems) != 0 {
		t.Errorf("merged: %+v", report)
	}
	made := w.seal()
	check.That(t, len(made.Heads) == 2 && made.Lines == 6, "sealed %+v", made)
	w.append("join")
	if report := w.verify(); report.Sealed != 6 || report.Unsealed != 1 || len(report.Problems) != 0 {
		t.Errorf("joined: %+v", report)
	}
	w.write(tracePath, strings.Replace(w.read(tracePath), ours[0], "", 1))
	report := w.verify()
	got, want := kinds(report.Problems), "[missing_predecessor sealed_record_missing sealed_record_missing]"
	check.That(t, got == want, "problems %s, want %s", got, want)
	if report.Sealed != 4 { // their branch still stands
		t.Errorf("%d sealed, want 4", report.Sealed)
	}
}

func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	found := check.Value(os.ReadDir(dir))(t)
	for _, e := range found {
		names = append(names, e.Name())
	}
	return names
}

func TestADamagedLedgerIsSealedOnlyOnRequest(t *testing.T) {
	w := newWorkspace(t)
	w.append("one", "two", "three")
	lines := w.lines()
	w.write(tracePath, lines[0]+lines[2]+"\n")
	ctx := context.Background()
	check.Fails(seal.Create(ctx, w.root, w.key, seal.CreateOptions{}))(t, seal.ErrProblems)
	check.Value(seal.Create(ctx, w.root, w.key, seal.CreateOptions{WithProblems: true}))(t)
	if report := w.verify(); report.Sealed != 2 || kinds(report.Problems) != "[missing_predecessor]" {
		t.Errorf("%+v", report)
	}
	w.write(tracePath, strings.Join(lines, "")+"\n") // the lost line comes back
	if report := w.verify(); report.Sealed != 3 || len(report.Problems) != 0 {
		t.Errorf("restored: %+v", report)
	}
}

func TestNothingToSeal(t *testing.T) {
	w := newWorkspace(t)
	check.Fails(seal.Create(context.Background(), w.root, w.key, seal.CreateOptions{}))(t, seal.ErrNothingToSeal)
}

func TestForeignLinesAreSealedAndNamed(t *testing.T) {
	w := newWorkspace(t)
	foreign := `{"version":"0.1.0","id":"x","timestamp":"2026-01-23T14:30:00Z","files":[]}` + "\n"
	w.append("one")
	w.write(tracePath, w.read(tracePath)+foreign)
	report := w.verify()
	if report.Foreign != 1 || report.Leaves != 1 || !strings.Contains(strings.Join(report.Unproven, "\n"), "other tools") {
		t.Errorf("%+v", report)
	}
	made := w.seal()
	check.That(t, made.Lines == 2, "sealed %+v", made)
	w.write(tracePath, strings.Replace(w.read(tracePath), foreign, "", 1))
	check.Equal(t, kinds(w.verify().Problems), "[sealed_record_missing]", "problems")
}

func TestHostileSealDirectories(t *testing.T) {
	for name, arrange := range map[string]func(w *workspace){
		"a link in place of the directory": func(w *workspace) {
			check.OK(w.t, os.Rename(w.path(sealsPath), w.path("elsewhere")))
			check.OK(w.t, os.Symlink("../elsewhere", w.path(sealsPath)))
		},
		"a link in place of a seal": func(w *workspace) {
			name := onlySeal(w)
			check.OK(w.t, os.Rename(w.path(name), w.path("elsewhere")))
			check.OK(w.t, os.Symlink("../../elsewhere", w.path(name)))
		},
		"a seal of a gigabyte": func(w *workspace) { check.OK(w.t, os.Truncate(w.path(onlySeal(w)), 1<<30)) },
		"garbage":              func(w *workspace) { w.write(sealsPath+"/x.note", "\x00\xff") },
		"an empty seal":        func(w *workspace) { w.write(sealsPath+"/x.note", "") },
		"a key that is none":   func(w *workspace) { w.write(sealsPath+"/keys/x", "x") },
	} {
		t.Run(name, func(t *testing.T) {
			w := sealedOf(t, "one")
			arrange(w)
			report := w.verify()
			check.That(t, len(report.Problems) != 0, "no problem: %+v", report)
		})
	}
}

func TestASignedTextThatIsNoSealDoesNotCount(t *testing.T) {
	w, made := sealedWith(t, "one")
	secret := check.Value(os.ReadFile(filepath.Join(w.user, "seal.key")))(t)
	first, _, _ := strings.Cut(string(secret), "\n")
	signer := check.Value(note.NewSigner(first))(t)
	signed := check.Value(note.Sign(&note.Note{Text: "something else\n" + made.Text()}, signer))(t)
	w.write(made.File, string(signed))
	report := w.verify()
	check.That(t, report.Sealed == 0 && kinds(report.Problems) == "[seal_malformed]", "%+v", report)
}

func TestPrivateKey(t *testing.T) {
	user := filepath.Join(t.TempDir(), "a", "b")
	check.Fails(seal.LoadKey(user))(t, seal.ErrNoKey, "no key")
	key := newKey(t, user, "Al ice+x/../é")
	if want := "Al-ice-x-..--+"; !strings.HasPrefix(key.Public().ID(), want) {
		t.Errorf("the key is %s, want %s…", key.Public().ID(), want)
	}
	again := newKey(t, user, "other")
	check.That(t, again.Public().String() == key.Public().String(), "a second key replaced the first")
	got := entries(t, user)
	check.That(t, slices.Equal(got, []string{"seal.key"}), "files %v", got)
	file := filepath.Join(user, "seal.key")
	if runtime.GOOS != "windows" {
		info := check.Value(os.Stat(file))(t)
		check.Equal(t, info.Mode().Perm(), 0o600, "mode")
		check.OK(t, os.Chmod(file, 0o640))
		check.Fails(seal.LoadKey(user))(t, seal.ErrUnsafeKey, "a key that the group can read")
		check.OK(t, os.Chmod(file, 0o600))
	}
	content := check.Value(os.ReadFile(file))(t)
	secret, _, _ := strings.Cut(string(content), "\n")
	other := newKey(t, t.TempDir(), "Al ice+x/../é")
	for name, text := range map[string]string{
		"empty": "", "garbage": "x\ny\n", "one line": secret, "another's public key": secret + "\n" + other.Public().String() + "\n",
	} {
		check.OK(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := seal.LoadKey(user)
		check.That(t, err != nil, "%s: accepted", name)
	}
}

func TestWithoutAnOrchestrationDirectory(t *testing.T) {
	dir := t.TempDir()
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	report := check.Value(seal.Verify(context.Background(), root, seal.VerifyOptions{}))(t)
	check.That(t, report.Records == 0 && len(report.Problems) == 0 && report.Seals != nil && report.Heads != nil, "%+v", report)
	check.Fails(mend.Repair(context.Background(), root))(t, ledger.ErrNotInitialized, "repair")
}

func FuzzParse(f *testing.F) {
	head := strings.Repeat("0123456789abcdef", 4)
	valid := "orchestra-mcp ledger seal v1\n2026-02-18T18:31:00Z\n1\n" + head + "\n"
	f.Add(valid)
	f.Add(strings.TrimSuffix(valid, "\n"))
	f.Add(valid + head + "\n")
	f.Add(strings.Replace(valid, "\n1\n", "\n01\n", 1))
	f.Add(strings.Replace(valid, "\n1\n", "\n-1\n", 1))
	f.Add(strings.Replace(valid, "Z", "+00:00", 1))
	f.Add(strings.Replace(valid, "00Z", "00.5Z", 1))
	f.Add(strings.Replace(valid, "a", "A", 1))
	f.Add("orchestra-mcp ledger seal v1\n2026-02-18T18:31:00Z\n1\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := seal.Parse(text)
		if err != nil {
			check.That(t, errors.Is(err, seal.ErrMalformed), "error %v", err)
			return
		}
		check.Equal(t, s.Text(), text, "it is written")
	})
}
