package gitref_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
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

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/gitref"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// TestCostOfAChange weighs what changes of ten lines cost, four between two exports: in a pack, with commits and trees, and
// as the loose objects that stand there until git packs them.
func TestCostOfAChange(t *testing.T) {
	changes, loose := 40, 100<<10
	if check.Long() {
		changes, loose = 1000, 2<<20
	} else {
		defer gitref.LimitLoose(4)()
	}
	const perExport, bound = 4, 450
	c := newClone(t, newForge(t, "sha1"))
	before := looseObjects(t, c.dir)
	tenLineChanges(c, changes, func(i int) {
		if i%perExport == 0 {
			check.Value(gitref.Export(context.Background(), c.root, gitref.Withheld{}))(t)
		}
	})
	after := looseObjects(t, c.dir)
	pack := packed(t, c.dir)
	t.Logf("%d changes, %d an export: %d bytes a change in a pack; loose objects take %d bytes of the disk", changes, perExport, pack/changes, after-before)
	check.That(t, pack/changes <= bound, "%d bytes a change, want at most %d", pack/changes, bound)
	check.That(t, after-before <= loose, "loose objects take %d bytes, want at most %d", after-before, loose)
}

// tenLineChanges records that many changes of ten lines each, in source files, by one agent that commits after every four.
// It calls after with how many there are.
func tenLineChanges(c *clone, n int, after func(i int)) {
	random := rand.New(rand.NewPCG(15, 450))
	clock := time.Date(2026, 2, 18, 18, 30, 0, 0, time.UTC)
	hex := func(digits int) string {
		sum := sha256.Sum256(fmt.Append(nil, random.Uint64()))
		return fmt.Sprintf("%x", sum)[:digits]
	}
	revision := hex(40)
	l, err := ledger.Open(c.root, ledger.Options{Beside: true, Durability: ledger.DurabilityOS, Version: "1.0.0", Revision: func() string { return revision },
		Clock: func() time.Time {
			clock = clock.Add(time.Duration(5000+random.IntN(60_000)) * time.Millisecond)
			return clock
		}})
	check.OK(c.t, err)
	defer func() { check.OK(c.t, l.Close(context.Background())) }()
	names := check.Value(filepath.Glob("../*/*.go"))(c.t)
	names = slices.DeleteFunc(names, func(name string) bool {
		content, err := os.ReadFile(name)
		return err != nil || bytes.Count(content, []byte("\n")) < 60
	})
	texts := map[string]string{}
	word := regexp.MustCompile(`[A-Za-z]{3,}`)
	for i := range n {
		if i%4 == 0 {
			revision = hex(40)
		}
		name := names[random.IntN(12)]
		if texts[name] == "" {
			content := check.Value(os.ReadFile(name))(c.t)
			texts[name] = string(content)
		}
		before := edit.Lines(texts[name])
		at := random.IntN(len(before) - 10)
		with := slices.Clone(before)
		for k := range 10 {
			with[at+k] = fmt.Sprintf("\t%s // %d", word.ReplaceAllString(before[(at+k+20)%len(before)], "$0"+hex(2)), i)
		}
		old, now := texts[name], strings.Join(with, "\n")+"\n"
		texts[name] = now
		_, err := l.Append(context.Background(), record.Record{
			Kind: record.KindMutation, IntentID: "INT-001", MutationClass: "INTENT_EVOLUTION", Call: "apply_diff",
			Changes: []record.Change{changeOf(l, "pkg/ledger/"+filepath.Base(name), old, now)},
			Class:   &record.Class{Computed: "INTENT_EVOLUTION", Evidence: "unproven"}, Session: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, i/40)).String(),
			Contributor: record.Contributor{Type: record.ContributorAI, ModelID: "anthropic/claude-x"}, Client: record.Client{Name: "claude-code", Version: "2.0.1"},
		})
		check.OK(c.t, err)
		after(i + 1)
	}
}

func changeOf(l *ledger.Ledger, path, old, now string) record.Change {
	c := record.Change{
		Change: change.Change{
			Op: change.Modified, Path: path, Before: change.Version{Hash: string(workspace.HashOf([]byte(old))), OID: l.BlobID([]byte(old))}, After: change.Version{Hash: string(workspace.HashOf([]byte(now))), OID: l.BlobID([]byte(now))}, Hunks: edit.Hunks(old, now),
		},
	}
	for _, r := range edit.ChangedRanges(now, c.Hunks) {
		c.Ranges = append(c.Ranges, record.Range(r))
	}
	c.Mark(edit.Lines(now))
	return c
}

// packed gives how many bytes a pack of the ref has.
func packed(t *testing.T, dir string) int {
	t.Helper()
	cmd := exec.Command("git", "pack-objects", "--revs", "--stdout", "-q")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(gitref.Ref+"\n")
	var pack bytes.Buffer
	cmd.Stdout = &pack
	check.OK(t, cmd.Run())
	return pack.Len()
}

// looseObjects is how much of the disk a clone's loose objects take. A file takes whole blocks.
func looseObjects(t *testing.T, dir string) (disk int) {
	t.Helper()
	const block = 4 << 10
	check.OK(t, filepath.WalkDir(filepath.Join(dir, ".git", "objects"), func(name string, e fs.DirEntry, err error) error {
		check.OK(t, err)
		if parent := filepath.Base(filepath.Dir(name)); e.IsDir() || len(parent) != 2 {
			return nil
		}
		info := check.Value(e.Info())(t)
		disk += (int(info.Size()) + block - 1) / block * block
		return nil
	}))
	return disk
}
