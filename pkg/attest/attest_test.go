package attest_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
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

var update = flag.Bool("update", false, "write the envelope in testdata anew")

// TestOthersReadTheEnvelope: e2e/cosign reads this very envelope with the libraries of others.
func TestOthersReadTheEnvelope(t *testing.T) {
	t.Parallel()
	name, keyName := filepath.Join("testdata", "envelope.json"), filepath.Join("testdata", "key.pem")
	if *update {
		a, text, _ := finished(t, "sha1", true)
		check.OK(t, os.WriteFile(name, text, 0o644))
		check.OK(t, os.WriteFile(keyName, []byte(attest.SealKey(a.key.Public()).PEM()), 0o644))
	}
	text := check.Value(os.ReadFile(name))(t)
	pem := check.Value(os.ReadFile(keyName))(t)
	key := check.Value(attest.ParsePublicKey(string(pem)))(t)
	if _, err := attest.Read(text, key); err != nil {
		t.Error(err)
	}
}

// TestAStrangerVerifies: in the usual form each format of objects and each place of the ledger once.
func TestAStrangerVerifies(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		for name, beside := range map[string]bool{"ref": true, "tree": false} {
			if !check.Long() && (format == "sha1") != beside {
				continue
			}
			t.Run(format+" "+name, func(t *testing.T) {
				a, text, p := finished(t, format, beside)
				r := check.Value(p.verify(text, attest.SealKey(a.key.Public())))(t)
				check.That(t, r.Holds, "it does not hold: %q, unknown %q", r.Contradictions, r.Unknown)
				check.That(t, r.Replay.Exact && len(r.Replay.Files) == 4, "the replay is %+v", r.Replay)
				for _, f := range r.Replay.Files {
					check.That(t, f.Checked == f.Changes, "not each change of the file was checked: %+v", f)
				}
				again := a.attest()
				check.That(t, bytes.Equal(again, text), "the same range gives another statement")
			})
		}
	}
}

// sealsOfATrustedKey leave nothing unsealed.
func sealsOfATrustedKey(t *testing.T, a *author, text []byte, p *place) {
	opts := attest.VerifyOptions{Required: []attest.PublicKey{attest.SealKey(a.key.Public())}, Version: version}
	for _, known := range [][]seal.PublicKey{nil, {a.key.Public()}} {
		opts.Seals = known
		r := check.Value(attest.Verify(t.Context(), p.root, text, opts))(t)
		unsealed := strings.Contains(strings.Join(r.Unproven, "\n"), "under no seal of a trusted key")
		check.That(t, r.Holds && unsealed == (known == nil), "holds %v, and says %q", r.Holds, r.Unproven)
	}
}

// TestMovesAndModes: a record of a move is replayed, and a mode where the record tells of one.
func TestMovesAndModes(t *testing.T) {
	t.Parallel()
	a := newAuthor(t, "sha1", true)
	a.move("src/a.txt", "src/b.txt")
	a.traced("src/b.txt", lines(1, 21))
	a.traced("src/run.sh", "true\n")
	check.OK(t, os.Chmod(filepath.Join(a.dir, "src", "run.sh"), 0o755))
	a.traced("src/known.sh", "true\n")
	check.OK(t, os.Chmod(filepath.Join(a.dir, "src", "known.sh"), 0o755))
	before, after := a.version("true\n"), a.version("true\n")
	before.Mode, after.Mode = "0644", "0755"
	a.changed("execute_command", record.Change{Change: change.Change{Op: change.Modified, Path: "src/known.sh", Before: before, After: after}})
	a.move("src/unchanged.txt", "src/renamed.txt")
	a.move("src/old.txt", "src/small.txt")
	a.traced("src/small.txt", "nothing is left of it\n")
	a.commit("one")
	r := a.judged(gitref.Withheld{})
	if !r.Holds || len(r.Replay.Files) != 5 || len(r.Replay.Taken) != 1 || !strings.Contains(r.Replay.Taken[0].Reason, "and not to its mode 100755") {
		t.Errorf("holds %v (%q), replay %+v", r.Holds, r.Contradictions, r.Replay)
	}
}

// TestWithoutAnchors: no commit names its ledger, and the author's has grown since.
func TestWithoutAnchors(t *testing.T) {
	t.Parallel()
	a := newAuthor(t, "sha1", true)
	a.work()
	a.git("add", "-A")
	a.git("commit", "-q", "-m", "without a trailer")
	text := a.attest()
	a.record(record.Record{Kind: record.KindSelection})
	r := check.Value(a.stranger(gitref.Withheld{}).verify(text, attest.SealKey(a.key.Public())))(t)
	check.That(t, r.Holds, "it does not hold: %q", r.Contradictions)
}

// whatIsNotHere keeps a statement from being checked, and contradicts nothing.
func whatIsNotHere(t *testing.T, a *author, text []byte, p *place) {
	key := attest.SealKey(a.key.Public())
	for name, args := range map[string][]string{"shallow": {"--depth=1"}, "partial": {"--filter=blob:none"}, "without records": nil} {
		dir := filepath.Join(t.TempDir(), "clone")
		p.git("config", "uploadpack.allowFilter", "true")
		p.git(append(append([]string{"clone", "-q", "--no-checkout"}, args...), "file://"+a.dir, dir)...)
		r, err := newPlace(t, dir).verify(text, key)
		check.That(t, err != nil && !attest.Contradicted(err), "%s: %v, %+v", name, err, r)
	}
}

// TestAWorkspaceBelowTheTop: what else is in the repository is covered, and not replayed.
func TestAWorkspaceBelowTheTop(t *testing.T) {
	t.Parallel()
	a := newAuthorIn(t, t.TempDir(), "apps/one", "sha1", true)
	a.work()
	a.write("../two/other.txt", "by hand\n")
	a.commit("second")
	text, key := a.attest(), attest.SealKey(a.key.Public())
	_, err := gitref.Export(t.Context(), a.root, gitref.Withheld{})
	check.OK(t, err)
	dir := filepath.Join(t.TempDir(), "clone")
	a.git("clone", "-q", "--no-local", filepath.Join(a.dir, "..", ".."), dir)
	p := newPlace(t, filepath.Join(dir, "apps", "one"))
	p.git("fetch", "-q", "origin", gitref.Ref+":"+gitref.Ref)
	_, err = gitref.Import(t.Context(), p.root)
	check.OK(t, err)
	r := check.Value(p.verify(text, key))(t)
	taken := []attest.Taken{{Path: "apps/two/other.txt", Reason: "it is not in the workspace"}}
	if !r.Holds || len(r.Replay.Files) != 4 || !slices.Equal(r.Replay.Taken, taken) {
		t.Errorf("holds %v (%q), replay %+v", r.Holds, r.Contradictions, r.Replay)
	}
	if _, err := newPlace(t, dir).verify(text, key); err == nil || attest.Contradicted(err) {
		t.Errorf("another workspace: %v", err)
	}
}

// TestNothingWasRecorded: a range that no record explains can be attested as that.
func TestNothingWasRecorded(t *testing.T) {
	t.Parallel()
	a := newAuthor(t, "sha1", false)
	a.write("src/hand.txt", "by hand\n")
	a.commit("one")
	r := a.judged(gitref.Withheld{})
	if !r.Holds || r.Statement.Predicate.Ledger.Lines != 0 || len(r.Replay.Taken) != 1 {
		t.Errorf("holds %v (%q), %+v", r.Holds, r.Contradictions, r.Statement.Predicate)
	}
}
