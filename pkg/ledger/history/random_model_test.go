package history_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/history"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/internal/framed"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
)

// check compares both verifications with the model.
func (d *gitDriver) check() {
	d.t.Helper()
	have, past, other := d.worktree(), d.past("HEAD"), d.past("--all", "--reflog")
	wantDropped := map[string]bool{}
	for id := range past {
		if _, ok := have[id]; !ok {
			wantDropped[id] = true
			delete(other, id)
		}
	}
	gotDropped := map[string]bool{}
	for _, p := range d.verify().Problems {
		gotDropped[p.Record] = true
		check.Equal(d.t, p.Kind, history.ProblemDropped, "problem")
	}
	if !maps.Equal(gotDropped, wantDropped) {
		d.t.Errorf("dropped lines %v, want %v", slices.Collect(maps.Keys(gotDropped)), slices.Collect(maps.Keys(wantDropped)))
	}
	d.checkChain(have, other)
}

// past has every line of some commits and all before them.
func (d *gitDriver) past(selection ...string) lineSet {
	lines := lineSet{}
	for _, commit := range strings.Fields(d.git(append([]string{"rev-list"}, selection...)...)) {
		maps.Copy(lines, d.model.commit(commit))
	}
	return lines
}

// checkChain: a predecessor that is missing is on another branch with all before it, or else it was removed.
func (d *gitDriver) checkChain(have, other lineSet) {
	d.t.Helper()
	maps.Copy(other, have)
	want := map[string]ledger.ProblemKind{}
	for _, line := range have {
		for _, p := range line.prev {
			if _, ok := have[p]; !ok {
				want[p] = ledger.ProblemMissing
				if other.whole(p) {
					want[p] = ledger.ProblemIncomplete
				}
			}
		}
	}
	report, _, err := verify.VerifyClaims(context.Background(), d.root, nil, history.Elsewhere(d.root))
	check.OK(d.t, err)
	got := map[string]ledger.ProblemKind{}
	for _, p := range report.Problems {
		_, rest, _ := strings.Cut(p.Detail, "with hash ")
		got[rest[:min(64, len(rest))]] = p.Kind
	}
	if !maps.Equal(got, want) || report.Records != len(have) {
		d.t.Errorf("%d records, problems %v, want %d and %v", report.Records, report.Problems, len(have), want)
	}
}

// lineSet has lines by their identity.
type lineSet map[string]modelLine

type modelLine struct {
	id   string
	prev []string
}

// whole reports whether a line and all before it are there.
func (s lineSet) whole(id string) bool {
	seen, stack := map[string]bool{}, []string{id}
	for len(stack) > 0 {
		line, ok := s[stack[len(stack)-1]]
		stack = stack[:len(stack)-1]
		if !ok {
			return false
		}
		for _, p := range line.prev {
			if !seen[p] {
				seen[p] = true
				stack = append(stack, p)
			}
		}
	}
	return true
}

// commitModel reads ledgers in the simplest way.
type commitModel struct {
	r       *repository
	blobs   map[string][]modelLine
	commits map[string]lineSet
}

func (m *commitModel) commit(id string) lineSet {
	if known, ok := m.commits[id]; ok {
		return known
	}
	lines := lineSet{}
	for entry := range strings.Lines(m.r.git("ls-tree", "-r", id, "--", ".orchestration")) {
		about, name, _ := strings.Cut(strings.TrimSpace(entry), "\t")
		if !strings.Contains(name, ".jsonl") {
			continue
		}
		blob := strings.Fields(about)[2]
		if _, known := m.blobs[blob]; !known {
			cmd := exec.Command("git", "cat-file", "blob", blob)
			cmd.Dir = m.r.dir
			content := check.Value(cmd.Output())(m.r.t)
			m.blobs[blob] = modelLines(m.r.t, name, content)
		}
		for _, line := range m.blobs[blob] {
			lines[line.id] = line
		}
	}
	m.commits[id] = lines
	return lines
}

func (d *gitDriver) worktree() lineSet {
	names := check.Value(filepath.Glob(filepath.Join(d.dir, ".orchestration", "trace", "*.jsonl")))(d.t)
	lines := lineSet{}
	for _, name := range append(append(names, d.archives()...), filepath.Join(d.dir, tracePath)) {
		content, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		check.OK(d.t, err)
		for _, line := range modelLines(d.t, name, content) {
			lines[line.id] = line
		}
	}
	return lines
}

func modelLines(t *testing.T, name string, content []byte) (lines []modelLine) {
	if strings.Contains(filepath.ToSlash(name), "/archive/") {
		text, err := framed.NewStream(bytes.NewReader(content))
		check.OK(t, err)
		content, err = io.ReadAll(text)
		check.OK(t, err)
	}
	for text := range strings.Lines(string(content)) {
		text = strings.TrimRight(text, "\r\n")
		prev, _, ok := strings.Cut(strings.TrimPrefix(text, `{"prev":[`), "]")
		if !ok || !strings.HasPrefix(text, `{"prev":[`) {
			continue
		}
		line := modelLine{id: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}
		for p := range strings.SplitSeq(prev, ",") {
			if p != "" {
				line.prev = append(line.prev, strings.Trim(p, `"`))
			}
		}
		lines = append(lines, line)
	}
	return lines
}
