//go:build unix

package server_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// audit holds a workspace, in which only governed calls change files, against
// its ledger.
type audit struct {
	t            *testing.T
	dir          string
	start        map[string]string // hash and mode of each file before the first call
	acknowledged map[string]bool   // record ids that a result has named

	// afterCut: contents can be torn where nobody looks for them. What is torn
	// under a temporary name is kept aside, since it could be anybody's.
	afterCut bool
	// gapsMeant: decisions can be lost, which is a problem that verify finds.
	gapsMeant bool

	records, recovered, probable, partial, leftovers int
}

func newAudit(t *testing.T, dir string) *audit {
	a := &audit{t: t, dir: dir, acknowledged: map[string]bool{}}
	a.start = a.files()
	return a
}

// files hashes the workspace's files, temporary ones beside a target included, and adds their modes.
func (a *audit) files() map[string]string {
	a.t.Helper()
	found := map[string]string{}
	check.OK(a.t, filepath.WalkDir(a.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == ".orchestration") {
			return filepath.SkipDir
		}
		if d.IsDir() {
			return nil
		}
		content, err := os.ReadFile(path)
		rel, _ := filepath.Rel(a.dir, path)
		info, unseen := os.Stat(path)
		if unseen != nil {
			return unseen
		}
		found[rel] = string(workspace.HashOf(content)) + " " + string(change.ModeOf(info.Mode()))
		return err
	}))
	return found
}

// check replays the ledger from the first state. Each record must follow from
// the one before it, and the last state must be that of the disk: so no change
// is missing, and none is claimed that did not happen.
func (a *audit) check(when string) {
	a.t.Helper()
	root := check.Value(os.OpenRoot(a.dir))(a.t)
	defer root.Close()
	report, err := verify.Verify(context.Background(), root)
	if err == nil && a.gapsMeant {
		report.Problems = withoutGaps(report.Problems)
	}
	check.Must(a.t, err == nil && len(report.Problems) == 0, "%s: the ledger does not verify: %v %+v", when, err, report.Problems)
	l := check.Value(ledger.Open(root, ledger.Options{}))(a.t)
	defer l.Close(context.Background())
	all := check.Value(l.Query(context.Background(), record.Filter{}))(a.t)
	state, seen := map[string]string{}, map[string]bool{}
	for path, hash := range a.start {
		state[path] = hash
	}
	a.recovered, a.probable = 0, 0
	for _, e := range all.Entries {
		check.Must(a.t, !seen[e.ID], "%s: record %s stands twice in the ledger", when, e.ID)
		seen[e.ID] = true
		a.replay(when, state, e)
	}
	a.records = len(all.Entries)
	for id := range a.acknowledged {
		check.That(a.t, seen[id], "%s: record %s was acknowledged and is not in the ledger", when, id)
	}
	a.compare(when, state)
	if a.t.Failed() {
		a.t.FailNow()
	}
}

func (a *audit) replay(when string, state map[string]string, e record.Entry) {
	if e.Kind == record.KindRecovered {
		a.recovered++
		if e.Detail["certainty"] != nil {
			a.probable++
		}
		if e.Detail["partial"] != nil && a.afterCut {
			a.partial++
		} else if e.Detail["partial"] != nil {
			a.t.Errorf("%s: nobody else changes files here, and yet a call was settled in part: %s", when, e.Raw)
		}
	}
	for _, c := range e.Changes {
		from := c.Path
		if c.Op == change.Moved {
			from = c.From
		}
		if before := versionOf(c.Before.Hash, c.Before.Mode); !a.same(state[from], before) {
			a.t.Errorf("%s: record %s (%s %s) begins with %q, but %s was %q", when, e.ID, e.Kind, c.Op, before, from, state[from])
		}
		delete(state, from)
		if c.After.Hash != "" {
			state[c.Path] = versionOf(c.After.Hash, c.After.Mode)
		}
	}
}

func versionOf(hash string, mode change.Mode) string {
	if hash == "" {
		return ""
	}
	return hash + " " + string(mode)
}

// same compares contents and modes. What a power cut leaves of modes is not asked.
func (a *audit) same(x, y string) bool {
	if a.afterCut {
		x, _, _ = strings.Cut(x, " ")
		y, _, _ = strings.Cut(y, " ")
	}
	return x == y
}

func (a *audit) compare(when string, state map[string]string) {
	disk := a.files()
	for path, hash := range disk {
		if !a.same(state[path], hash) {
			a.t.Errorf("%s: %s has a content or a mode that no record explains: %s, recorded %q", when, path, hash, state[path])
		}
	}
	for path := range state {
		check.That(a.t, disk[path] != "", "%s: the ledger says that %s is there, and it is not", when, path)
	}
	a.leftovers = 0
	for _, place := range []string{"tmp", "inflight"} {
		entries, _ := os.ReadDir(filepath.Join(a.dir, ".orchestration/state", place))
		for _, e := range entries {
			switch {
			case a.afterCut:
			case strings.HasSuffix(e.Name(), ".kept"), strings.HasSuffix(e.Name(), ".unreadable"):
				a.t.Errorf("%s: %s was set aside although nobody else writes here", when, e.Name())
			case place == "tmp" && !strings.HasSuffix(e.Name(), ".owner"):
				a.leftovers++
				a.t.Errorf("%s: the temporary file %s is left", when, e.Name())
			}
		}
	}
}
