package blame_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// places are where a file is asked about: in the workspace with what undo keeps, in a clone, and in one of the last commit
// alone, both with the ledger.
var places = []string{"workspace", "clone", "depth 1"}

func (p *past) measure(got map[string]*figures, everywhere bool) {
	p.ask("workspace", got["workspace"], p.root, p.ledger, p.notes.contents("images"))
	clones := map[string][]string{"clone": {p.dir}, "depth 1": {"--depth=1", "file://" + p.dir}}
	half := p.seed / 1000 % 2
	if !everywhere {
		delete(clones, []string{"clone", "depth 1"}[half])
	}
	for place, from := range clones {
		dir := filepath.Join(p.t.TempDir(), "clone")
		p.git(slices.Concat([]string{"clone", "-q"}, from, []string{dir})...)
		check.OK(p.t, os.CopyFS(filepath.Join(dir, ".orchestration"), os.DirFS(filepath.Join(p.dir, ".orchestration"))))
		root := check.Value(os.OpenRoot(dir))(p.t)
		l := check.Value(ledger.Open(root, ledger.Options{}))(p.t)
		p.ask(place, got[place], root, l, nil)
		check.OK(p.t, l.Close(context.Background()))
		check.OK(p.t, root.Close())
	}
	if !everywhere && half == 0 {
		return
	}
	p.agent()
	p.person()
	p.write()
	p.ask("workspace", got["workspace"], p.root, p.ledger, p.notes.contents("images")) // with changes that nobody has committed
}

func (p *past) ask(place string, g *figures, root *os.Root, l *ledger.Ledger, images blame.Contents) {
	for _, f := range p.papers {
		result := check.Value(blame.Workspace{Root: root, Ledger: l, Kept: images}.File(context.Background(), f.path))(p.t)
		g.addLines(p.t, result.Lines, f.lines)
		if shown := os.Getenv("ORCHESTRA_BLAME_SHOW"); shown == place || shown == "all" {
			p.t.Logf("%s:", place)
			show(p.t, p.seed, result.Lines, f)
		}
	}
}

// bounds are what must be right of the answers, and answered of the lines, in a place.
func (o operation) bounds(place string) (precision, recall float64) {
	precision, recall = 0.99, 0.97
	if place == "depth 1" {
		precision, recall = 0.95, 0.95
	}
	if o.recall > 0 {
		recall = min(recall, o.recall)
	}
	return precision, recall
}

// TestOperations holds each operation to how many lines of agents are known after it, and how many answers are right. One
// history of each says nothing of an operation by itself: the short form holds all of them together to the bounds, and those
// that have a bound of their own, the formatters, each by some more histories; of the others, every second one is asked about
// in either kind of clone, and with changes that nobody has committed.
func TestOperations(t *testing.T) {
	t.Setenv("FILTER_BRANCH_SQUELCH_WARNING", "1")
	all := texts(t)
	together := newFigures()
	for k, o := range operations() {
		t.Run(o.name, func(t *testing.T) {
			got := newFigures()
			few, done, parted := 1, 0, 0
			if o.recall > 0 {
				few = 2
			}
			for seed := 0; done < check.Rounds(few, 20) && parted < 40; seed++ {
				p := newPast(t, heldOutSeed(t)+1000*k+seed, all, o.files)
				p.live(o, check.Rounds(1, 2))
				if p.parted {
					parted++
					continue
				}
				done++
				p.save()
				p.measure(got, few > 1 || check.Long())
			}
			for _, place := range places {
				t.Logf("%s: %s: precision %.4f, recall %.4f of %d lines, %d runs (%d left out)", o.name, place, got[place].precision(), got[place].recall(),
					got[place].owned, done, parted)
				if check.Rounds(few, 20) > 1 {
					precision, recall := o.bounds(place)
					got[place].want(t, precision, recall)
				} else {
					together[place].addAll(got[place])
				}
			}
		})
	}
	for place, g := range together {
		if g.lines == 0 {
			continue // each by itself
		}
		precision, recall := operation{}.bounds(place)
		t.Logf("together: %s: precision %.4f, recall %.4f of %d lines", place, g.precision(), g.recall(), g.owned)
		g.want(t, precision, recall)
	}
}

func newFigures() map[string]*figures {
	got := map[string]*figures{}
	for _, place := range places {
		got[place] = &figures{}
	}
	return got
}

// live does the operation some times, amid other work.
func (p *past) live(o operation, times int) {
	for n := range times + 1 {
		if !o.alone {
			p.work(1 + 2*(1-min(n, 1)))
		}
		if n < times {
			o.do(p)
		}
	}
}
