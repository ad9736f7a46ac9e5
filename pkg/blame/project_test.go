package blame_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// project is a repository of papers, with a real ledger.
type project struct {
	*repo
	rand   *rand.Rand
	papers []*paper
	notes  *recorder
}

func newProject(t testing.TB, seed int, all map[string][]string) *project {
	t.Helper()
	p := &project{repo: newRepo(t), rand: rand.New(rand.NewPCG(uint64(seed), 815)), notes: newRecorder()}
	p.notes.clock = p.clock
	p.notes.append = func(r record.Record) {
		p.clock = p.notes.clock
		e := record.Entry{Record: r}
		p.notes.entries = append(p.notes.entries, e) // for isImage
		_, err := p.ledger.Append(context.Background(), r)
		check.OK(t, err)
	}
	names := slices.Sorted(maps.Keys(all))
	stride := 3
	if len(names)%stride == 0 {
		stride = 1
	}
	for i := range min(3, len(names)) {
		name := names[(seed+i*stride)%len(names)]
		h := &hand{rand: p.rand, pool: all[name], ids: i * 1_000_000}
		p.papers = append(p.papers, newPaper(h, "src/"+name, all[name], p.notes))
	}
	p.commitAll()
	return p
}

func (p *project) write() {
	for _, paper := range p.papers {
		check.Write(p.t, p.dir, paper.path, paper.String())
	}
}

// clean removes what has another name now.
func (p *project) clean() {
	check.OK(p.t, filepath.WalkDir(p.dir, func(name string, e os.DirEntry, err error) error {
		check.OK(p.t, err)
		if e.Name() == ".git" || e.Name() == ".orchestration" {
			return filepath.SkipDir
		}
		relative, err := filepath.Rel(p.dir, name)
		if err != nil || e.IsDir() {
			return err
		}
		if !slices.ContainsFunc(p.papers, func(f *paper) bool { return f.path == filepath.ToSlash(relative) }) {
			return os.Remove(name)
		}
		return nil
	}))
}

func (p *project) commitAll() {
	p.notes.clock = p.notes.clock.Add(1e9)
	p.clock = p.notes.clock
	p.write()
	p.clean()
	p.git("add", "-A")
	p.git("commit", "-q", "--allow-empty", "-m", "work")
}
