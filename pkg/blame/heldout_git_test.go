package blame_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
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

// step is an edit of a file, or of two, and now and then a commit.
func (p *project) step() {
	f := p.papers[p.rand.IntN(len(p.papers))]
	switch n := p.rand.IntN(100); {
	case n < 6:
		p.moveAcross(f)
	case n < 10: // git mv, by a person
		p.commitAll()
		f.path = fmt.Sprintf("moved%d/%s", p.rand.IntN(1e6), filepath.Base(f.path))
		p.commitAll()
	default:
		f.step()
	}
	if p.rand.IntN(3) == 0 {
		p.commitAll()
	}
}

// moveAcross is a person who moves a block to another file, in a commit of its own.
func (p *project) moveAcross(f *paper) {
	other := p.papers[p.rand.IntN(len(p.papers))]
	if other == f || len(f.lines) < 40 || f.crlf != other.crlf {
		return
	}
	p.commitAll()
	from := p.rand.IntN(len(f.lines) - 25)
	to := from + 5 + p.rand.IntN(20)
	block := f.lines[from:to]
	at := p.rand.IntN(len(other.lines) + 1)
	other.become(slices.Concat(other.lines[:at], block, other.lines[at:]))
	f.become(slices.Concat(f.lines[:from], f.lines[to:]))
	p.commitAll()
}

// join edits a file on two branches, and joins them as people do.
func (p *project) join(f *paper, how string) {
	joined := f.branches(3, func(stage int) {
		switch stage {
		case 0:
			p.commitAll()
			p.git("checkout", "-q", "-b", "feature")
		case 1:
			p.commitAll()
		case 2:
			p.git("checkout", "-q", "main")
		case 3:
			p.commitAll()
			p.merge(how)
		}
	})
	if !joined {
		return
	}
	p.git("branch", "-q", "-D", "feature")
	name := filepath.Join(p.dir, filepath.FromSlash(f.path))
	content, err := os.ReadFile(name)
	check.Must(p.t, err == nil && string(content) == f.String(), "git made something else of the branches of %s (%s): %v", f.path, how, err)
}

func (p *project) merge(how string) {
	switch how {
	case "merge":
		p.git("merge", "-q", "--no-ff", "-m", "join", "feature")
	case "squash":
		p.git("merge", "-q", "--squash", "feature")
		p.git("commit", "-q", "--allow-empty", "-m", "squash")
	case "rebase":
		p.git("checkout", "-q", "feature")
		p.git("rebase", "-q", "main")
		p.git("checkout", "-q", "main")
		p.git("merge", "-q", "--ff-only", "feature")
	}
}

// TestHeldOutInGit is TestHeldOut with three files in a repository: commits, merges, rebases, squashes, renames and moves
// between files.
func TestHeldOutInGit(t *testing.T) {
	all := texts(t)
	var git, images figures
	for seed := range check.Rounds(2, 60) {
		p := newProject(t, heldOutSeed(t)+seed, all)
		for i := range 40 {
			if i%13 == 12 {
				p.join(p.papers[p.rand.IntN(3)], []string{"merge", "rebase", "squash"}[(seed+i/13)%3])
			}
			p.step()
		}
		p.write()
		p.clean()
		for _, known := range []struct {
			images blame.Contents
			*figures
		}{{nil, &git}, {p.notes.contents("images"), &images}} {
			w := blame.Workspace{Root: p.root, Ledger: p.ledger, Kept: known.images}
			for _, f := range p.papers {
				result := check.Value(w.File(context.Background(), f.path))(t)
				known.addLines(t, result.Lines, f.lines)
				if os.Getenv("ORCHESTRA_BLAME_SHOW") == "git" && known.images == nil {
					show(t, seed, result.Lines, f)
				}
			}
		}
	}
	t.Logf("contents known: git            %v", &git)
	t.Logf("contents known: git and images %v", &images)
	// Without images, what a tool wrote and a person changed before the commit is known nowhere.
	git.want(t, 0.97, 0.95)
	images.want(t, wantPrecision, 0.94)
}
