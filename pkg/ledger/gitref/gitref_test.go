package gitref_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

func TestSync(t *testing.T) {
	defer gitref.LimitLoose(2)()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			forge := newForge(t, format)
			a, b := newClone(t, forge), newClone(t, forge)
			if done := a.sync(); done.Sent != 0 {
				t.Errorf("nothing was sent as %d records", done.Sent)
			}
			a.record(3)
			if done := a.sync(); done.Sent != 3 || done.Received != 0 {
				t.Errorf("the first sync sent %d and received %d, want 3 and 0", done.Sent, done.Received)
			}
			b.record(2)
			if done := b.sync(); done.Sent != 2 || done.Received != 3 {
				t.Errorf("the second sync sent %d and received %d, want 2 and 3", done.Sent, done.Received)
			}
			b.want(5)
			a.record(1)
			a.sync()
			a.want(6)
			if done := a.sync(); done.Sent+done.Received != 0 {
				t.Errorf("a sync of nothing moved %+v", done)
			}
			b.sync()
			b.want(6)
			if format != "sha1" && !check.Long() {
				return
			}
			branches := git(t, forge, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags")
			check.That(t, branches == "refs/heads/main", "the forge has the branches %s", branches)
			for _, args := range [][]string{{"--depth=1"}, {"--filter=blob:none"}} {
				other := newClone(t, "file://"+forge, args...)
				other.sync()
				other.want(6)
				check.OK(t, tryOnly(tryGit(other.dir, "fsck", "--strict")))
			}
			packs, err := filepath.Glob(filepath.Join(a.dir, ".git", "objects", "pack", "*.pack"))
			check.That(t, err == nil && len(packs) != 0, "nothing was packed: %v", err)
			bare := filepath.Join(t.TempDir(), "bare.git")
			git(t, filepath.Dir(bare), "clone", "-q", "--bare", forge, bare)
			tree := filepath.Join(t.TempDir(), "tree")
			git(t, bare, "worktree", "add", "-q", tree, "main")
			root := check.Value(os.OpenRoot(tree))(t)
			defer root.Close()
			ofBare := &clone{t, tree, root}
			ofBare.record(1)
			ofBare.sync()
			ofBare.want(7)
			check.OK(t, tryOnly(tryGit(forge, "fsck", "--strict")))
		})
	}
}

func tryOnly(_ string, err error) error { return err }

// TestSyncAtOnce has several clones push at once, again and again.
func TestSyncAtOnce(t *testing.T) {
	defer gitref.LimitLoose(2)()
	forge := newForge(t, "sha1")
	const clones, rounds = 3, 2
	var all sync.WaitGroup
	for range clones {
		c := newClone(t, forge)
		all.Go(func() {
			for range rounds {
				c.record(2)
				for {
					_, err := gitref.Sync(context.Background(), c.root, "origin", gitref.Withheld{})
					if err == nil {
						break
					}
					if !strings.Contains(err.Error(), "again and again") {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	all.Wait()
	last := newClone(t, forge)
	last.sync()
	last.want(clones * rounds * 2)
}

// TestForcedRef brings back what somebody deleted or forced away at the forge.
func TestForcedRef(t *testing.T) {
	forge, a, b := twoClones(t)
	a.record(2)
	a.sync()
	git(t, forge, "update-ref", "-d", gitref.Ref)
	b.record(1)
	b.sync()
	b.want(1)
	a.sync()
	a.want(3)
	git(t, forge, "update-ref", gitref.Ref, git(t, forge, "commit-tree", "-m", "forced", git(t, forge, "hash-object", "-t", "tree", "-w", "/dev/null")))
	b.sync()
	a.sync()
	c := newClone(t, forge)
	c.sync()
	c.want(3)
}

func TestRemoteRefuses(t *testing.T) {
	forge := newForge(t, "sha1")
	hook := "#!/bin/sh\nwhile read -r old new ref; do case $ref in refs/heads/*) ;; *) echo 'only branches here' >&2; exit 1;; esac; done\n"
	check.OK(t, os.WriteFile(filepath.Join(forge, "hooks", "pre-receive"), []byte(hook), 0o755))
	a := newClone(t, forge)
	a.record(1)
	check.Fails(gitref.Sync(context.Background(), a.root, "origin", gitref.Withheld{}))(t, gitref.ErrRefused, "a forge that takes only branches")
	a.want(1)
}

// TestHostileRef sets aside what is not believed, and takes the rest.
func TestHostileRef(t *testing.T) {
	forge := newForge(t, "sha1")
	a := newClone(t, forge)
	a.record(2)
	a.sync()
	good, key := listed(t, forge)
	garbage := git(t, forge, "hash-object", "-w", filepath.Join(forge, "HEAD"))
	input := good + "\n100644 blob " + garbage + "\tREADME.md\n100644 blob " + garbage + "\t" + key + "-ab/" + strings.Repeat("0", 62) + ".jsonl.zst\n" +
		"120000 blob " + garbage + "\t" + key + "-cd/" + strings.Repeat("1", 62) + ".jsonl.zst\n"
	push(t, forge, input)
	b := newClone(t, forge)
	done := b.sync()
	check.Equal(t, len(done.Aside), 3, "set aside")
	b.want(2)
}

// listed gives the entries of a forge's ref, and the key of the workspace in them.
func listed(t *testing.T, forge string) (entries, key string) {
	t.Helper()
	entries = git(t, forge, "ls-tree", "-r", gitref.Ref)
	_, path, _ := strings.Cut(entries, "\t")
	return entries, path[:16]
}

// push makes a forge's ref a tree of these entries.
func push(t *testing.T, forge, entries string) {
	t.Helper()
	index := "GIT_INDEX_FILE=" + filepath.Join(t.TempDir(), "index")
	cmd := exec.Command("git", "update-index", "--index-info")
	cmd.Dir, cmd.Env, cmd.Stdin = forge, append(os.Environ(), index), strings.NewReader(entries)
	out, err := cmd.CombinedOutput()
	check.Must(t, err == nil, "%v: %s", err, out)
	cmd = exec.Command("git", "write-tree")
	cmd.Dir, cmd.Env = forge, append(os.Environ(), index)
	tree := check.Value(cmd.Output())(t)
	git(t, forge, "update-ref", gitref.Ref, git(t, forge, "commit-tree", "-m", "hostile", strings.TrimSpace(string(tree))))
}

// TestCycle: what stands for records that were kept back can claim to follow itself. It is taken for nothing else, and
// whoever goes along the chain comes to an end.
func TestCycle(t *testing.T) {
	forge := newForge(t, "sha1")
	a := newClone(t, forge)
	a.record(2)
	a.sync()
	good, key := listed(t, forge)
	one, two, three := strings.Repeat("1", 64), strings.Repeat("2", 64), strings.Repeat("3", 64)
	stub := func(of, prev string) string {
		return `{"prev":["` + prev + `"],"withheld":"` + of + `","kind":"mutation"}` + "\n"
	}
	segment := check.Value(zstd.NewWriter(nil))(t)
	content := segment.EncodeAll([]byte(stub(one, two)+stub(two, one)+stub(three, three)), nil)
	name := filepath.Join(t.TempDir(), "segment")
	check.OK(t, os.WriteFile(name, content, 0o600))
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	push(t, forge, good+"\n100644 blob "+git(t, forge, "hash-object", "-w", name)+"\t"+key+"-"+sum[:2]+"/"+sum[2:]+".jsonl.zst\n")
	b := newClone(t, forge)
	done := b.sync()
	check.That(t, len(done.Aside) == 0, "set aside: %+v", done.Aside)
	b.record(1)
	report, err := verify.Verify(context.Background(), b.root)
	if err != nil || report.Records != 6 || report.Withheld[record.KindMutation] != 3 || len(report.Problems) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	b.sync()
	a.sync()
	a.want(6)
}

// TestWithheld sends what is kept back as what the chain needs of it.
func TestWithheld(t *testing.T) {
	marked := record.Record{Kind: record.KindMutation, Call: "call with marks", IntentID: "INT-001", Changes: []record.Change{{
		Change: change.Change{Op: change.Created, Path: "a.txt", After: change.Version{Hash: "sha256:" + strings.Repeat("0", 64)}, Hunks: [][4]int{{0, 0, 1, 1}}},
		Marks:  record.LineMarks{record.MarkOf("x")},
	}}}
	for kind, c := range map[record.Kind]struct {
		keep       gitref.Withheld
		sent, kept string
	}{
		record.KindDecision: {gitref.Withheld{Decisions: true}, "call with marks", "call 0"},
		record.KindMutation: {gitref.Withheld{Marks: true}, "call 0", "call with marks"},
	} {
		_, a, b := twoClones(t)
		a.record(1)
		a.append(nil, marked)
		check.Value(gitref.Sync(t.Context(), a.root, "origin", c.keep))(t)
		a.want(2)
		b.sync()
		b.want(2)
		if report, err := verify.Verify(t.Context(), b.root); err != nil || len(report.Withheld) != 1 || report.Withheld[kind] != 1 {
			t.Errorf("verify counts %v withheld records, %v; want one %s", report.Withheld, err, kind)
		}
		if report, err := verify.Verify(t.Context(), a.root); err != nil || len(report.Withheld) > 0 {
			t.Errorf("where they were made it counts %v, %v", report.Withheld, err)
		}
		sent := ""
		_, err := locate.EachLine(t.Context(), b.root, func(line ledger.RawLine) error {
			sent += string(line.Data)
			return nil
		})
		check.OK(t, err)
		check.That(t, strings.Contains(sent, c.sent) && !strings.Contains(sent, c.kept), "sent: %s", sent)
		b.record(1)
		b.sync()
		a.sync()
		a.want(3)
	}
}

// TestImportIsBounded takes in as much as the bound allows, names the rest, and takes that in the next time.
func TestImportIsBounded(t *testing.T) {
	forge := newForge(t, "sha1")
	a := newClone(t, forge)
	for range 3 {
		a.record(10)
		a.sync()
	}
	b := newClone(t, forge)
	restore := gitref.LimitImport(25)
	done, err := gitref.Fetch(context.Background(), b.root, "origin")
	restore()
	check.OK(t, err)
	if done.Records != 20 || len(done.Aside) != 1 {
		t.Errorf("took %d records and set %d files aside, want 20 and 1", done.Records, len(done.Aside))
	}
	b.sync()
	b.want(30)
}

// TestConflictingRecord sets aside a segment with another record under an id that is taken, by whichever clone comes second.
func TestConflictingRecord(t *testing.T) {
	_, a, b := twoClones(t)
	id := "11111111-1111-4111-8111-111111111111"
	for c, intent := range map[*clone]string{a: "INT-001", b: "INT-002"} {
		c.append(func() string { return id }, record.Record{Kind: record.KindDecision, Call: "x", IntentID: intent, Decision: &record.Decision{Outcome: "refused"}})
	}
	a.sync()
	done := b.sync()
	check.That(t, len(done.Aside) == 1 && strings.Contains(done.Aside[0].Reason, id), "set aside: %+v", done.Aside)
	b.want(1)
}

// TestDictionaryStays: segments that are written can be read with this very text alone.
func TestDictionaryStays(t *testing.T) {
	const want = "afa6e1cc76494a726e896cc7513e0623bd7144f89e1416a184db7e827dbc5716"
	check.Equal(t, fmt.Sprintf("%x", sha256.Sum256([]byte(gitref.Dictionary))), want, "the dictionary: what others wrote cannot be read with another one; another text needs another id")
}

func FuzzSegment(f *testing.F) {
	one := []byte(`{"prev":[],"version":"0.1.0"}`)
	two := fmt.Appendf(nil, `{"prev":["%x"],"version":"0.1.0"}`, sha256.Sum256(one))
	for _, text := range [][]byte{nil, []byte("\n"), []byte("x\n\ny\r\n"), []byte("+\n-\n+,x\n--\n"), append(append(append(one, '\n'), two...), '\n'), append(two, '\n')} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var lines [][]byte
		for line := range bytes.Lines(text) {
			lines = append(lines, bytes.TrimSuffix(line, []byte("\n")))
		}
		file := check.Value(gitref.WriteSegment(lines))(t)
		want := append(bytes.Join(lines, []byte("\n")), '\n')
		if len(lines) == 0 {
			want = nil
		}
		got, err := gitref.ReadSegment(file)
		if check.OK(t, err); !bytes.Equal(got, want) {
			t.Fatalf("%q came back as %q", want, got)
		}
		_, _ = gitref.ReadSegment(text) // of a stranger
	})
}

// TestChainIsNotWritten: what a line has of the one above it is not in the segment.
func TestChainIsNotWritten(t *testing.T) {
	var lines [][]byte
	above := []byte("first")
	for range 100 {
		above = fmt.Appendf(nil, `{"prev":["%x"],"version":"0.1.0"}`, sha256.Sum256(above))
		lines = append(lines, above)
	}
	file, err := gitref.WriteSegment(lines)
	if check.OK(t, err); len(file) > 10*len(lines) {
		t.Errorf("%d lines take %d bytes", len(lines), len(file))
	}
}

func TestHostileSegmentText(t *testing.T) {
	compressed := func(text string, id uint32) []byte {
		options := []zstd.EOption{zstd.WithSingleSegment(true)}
		if id > 0 {
			options = append(options, zstd.WithEncoderDictRaw(id, []byte("another dictionary")))
		}
		w := check.Value(zstd.NewWriter(nil, options...))(t)
		return w.EncodeAll([]byte(text), nil)
	}
	for name, file := range map[string][]byte{
		"the first line follows another one": compressed("+,x\n", 0), "no end of the last line": compressed("x\ny", 0),
		"an unknown dictionary": compressed("another dictionary\n", 40_000), "no compressed text": []byte("x\n"),
	} {
		if text, err := gitref.ReadSegment(file); !errors.Is(err, framed.ErrDamaged) {
			t.Errorf("%s: read as %q, %v", name, text, err)
		}
	}
}
