package ledger_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
)

// TestCostOfAChange weighs what a change of ten lines costs in a pack of git's, when records travel as compressed segments
// of a few lines, each with its commit and trees. The bound is 450 bytes; what the lines themselves cost is beside it.
func TestCostOfAChange(t *testing.T) {
	const changes, bound = 400, 450
	lines := tenLineChanges(t, changes)
	for _, perSync := range []int{4, 40} {
		pack, segments := packed(t, slices.Collect(slices.Chunk(lines, perSync)))
		t.Logf("%d changes a sync: %d bytes a change in the pack, %d of them segments", perSync, pack/changes, segments/changes)
		if pack/changes > bound && perSync == 40 {
			t.Errorf("%d bytes a change, want %d", pack/changes, bound)
		}
	}
}

// tenLineChanges gives the ledger's lines for that many changes of ten lines each, in files of this package, by one agent that
// commits after every four.
func tenLineChanges(t *testing.T, n int) []string {
	w := newWorkspace(t)
	random := rand.New(rand.NewPCG(15, 450))
	clock := time.Date(2026, 2, 18, 18, 30, 0, 0, time.UTC)
	hex := func(digits int) string {
		sum := sha256.Sum256(fmt.Append(nil, random.Uint64()))
		return fmt.Sprintf("%x", sum)[:digits]
	}
	revision := hex(40)
	l := w.open(ledger.Options{Durability: ledger.DurabilityOS, Version: "1.0.0", Revision: func() string { return revision }, Clock: func() time.Time {
		clock = clock.Add(time.Duration(5000+random.IntN(60_000)) * time.Millisecond)
		return clock
	}})
	names, err := filepath.Glob("*.go")
	must(t, err)
	texts := map[string]string{}
	word := regexp.MustCompile(`[A-Za-z]{3,}`)
	for i := range n {
		if i%4 == 0 {
			revision = hex(40)
		}
		name := names[random.IntN(12)]
		if texts[name] == "" {
			content, err := os.ReadFile(name)
			must(t, err)
			texts[name] = string(content)
		}
		before := edit.Lines(texts[name])
		at := random.IntN(len(before) - 10)
		after := slices.Clone(before)
		for k := range 10 {
			after[at+k] = fmt.Sprintf("\t%s // %d", word.ReplaceAllString(before[(at+k+20)%len(before)], "$0"+hex(2)), i)
		}
		old, now := texts[name], strings.Join(after, "\n")+"\n"
		texts[name] = now
		c := ledger.Change{Path: "pkg/ledger/" + name, Op: ledger.OpModified, Before: sha(old), After: sha(now),
			BeforeOID: l.BlobID([]byte(old)), AfterOID: l.BlobID([]byte(now)), Hunks: edit.Hunks(old, now)}
		for _, r := range edit.ChangedRanges(now, c.Hunks) {
			c.Ranges = append(c.Ranges, ledger.Range(r))
		}
		c.Marks = ledger.MarksOf(edit.Lines(now), c.Hunks)
		_, err := l.Append(context.Background(), ledger.Record{
			Kind: ledger.KindMutation, IntentID: "INT-001", MutationClass: "INTENT_EVOLUTION", Call: "apply_diff", Changes: []ledger.Change{c},
			Class: &ledger.Class{Computed: "INTENT_EVOLUTION", Evidence: "unproven"}, Session: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, i/40)).String(),
			Contributor: ledger.Contributor{Type: ledger.ContributorAI, ModelID: "anthropic/claude-x"}, Client: ledger.Client{Name: "claude-code", Version: "2.0.1"},
		})
		must(t, err)
	}
	must(t, l.Close(context.Background()))
	content, err := os.ReadFile(filepath.Join(w.dir, tracePath))
	must(t, err)
	t.Logf("%d bytes a line", len(content)/n)
	return slices.Collect(strings.Lines(string(content)))
}

// packed commits segments one after the other, and gives how large the pack is, and the segments alone.
func packed(t *testing.T, syncs [][]string) (pack, segments int) {
	dir := t.TempDir()
	git := func(stdin []byte, args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	var stream bytes.Buffer
	data := func(content []byte) {
		fmt.Fprintf(&stream, "data %d\n%s\n", len(content), content)
	}
	for i, lines := range syncs {
		var segment bytes.Buffer
		w, err := framed.NewWriter(&segment)
		must(t, err)
		_, err = w.Write([]byte(strings.Join(lines, "")))
		must(t, err)
		must(t, w.Close())
		segments += segment.Len()
		name := fmt.Sprintf("%x", sha256.Sum256(segment.Bytes()))
		fmt.Fprintf(&stream, "commit refs/orchestra/ledger\ncommitter t <t@example.com> %d +0000\n", 1_771_439_400+600*i)
		data([]byte("sync"))
		fmt.Fprintf(&stream, "M 100644 inline %s/%s.jsonl.zst\n", name[:2], name[2:32])
		data(segment.Bytes())
	}
	git(nil, "init", "-q", "--bare")
	git(stream.Bytes(), "fast-import", "--quiet")
	git(nil, "repack", "-adq")
	must(t, filepath.WalkDir(filepath.Join(dir, "objects/pack"), func(name string, e os.DirEntry, err error) error {
		if must(t, err); strings.HasSuffix(name, ".pack") {
			info, err := e.Info()
			must(t, err)
			pack += int(info.Size())
		}
		return nil
	}))
	return pack, segments
}
