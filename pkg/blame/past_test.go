package blame_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/edit"
)

// past is a project with a twin: a second repository, whose lines say which they are. Git does the same to both, so that
// the truth of each line is known after whatever it did.
type past struct {
	*project
	twin   *repo
	owners map[int]string
	seed   int
	parted bool     // git did other things to the twin: what came of it is not known
	paths  []string // that the last commit has
}

func newPast(t testing.TB, seed int, all map[string][]string, wanted func(string) bool) *past {
	t.Helper()
	some := map[string][]string{}
	for name, text := range all {
		if wanted == nil || wanted(name) {
			some[name] = text
		}
	}
	p := &past{project: newProject(t, seed, some), seed: seed, owners: map[int]string{}}
	if wanted != nil { // whole, so that formatters can read them
		for _, f := range p.papers {
			f.become(f.ownAll(f.pool, ""))
		}
	}
	twin := *p.repo
	twin.dir = t.TempDir()
	p.twin = &twin
	p.both("init", "-q")
	p.commit()
	return p
}

// both has git do the same in the two repositories, and reports whether it could in both.
func (p *past) both(args ...string) bool {
	p.twin.clock = p.clock
	_, err := p.try(args...)
	_, twinErr := p.twin.try(args...)
	if (err == nil) != (twinErr == nil) {
		p.parted = true
	}
	return err == nil && twinErr == nil
}

// must is both for what cannot fail.
func (p *past) must(args ...string) {
	p.t.Helper()
	check.Must(p.t, p.both(args...) || p.parted, "git %v", args)
}

const tag = "\x01"

// save writes the files as they are now.
func (p *past) save() {
	p.write()
	p.clean()
	check.OK(p.t, os.RemoveAll(filepath.Join(p.twin.dir, "src")))
	for _, f := range p.papers {
		end := "\n"
		if f.crlf {
			end = "\r\n"
		}
		var b strings.Builder
		for _, l := range f.lines {
			p.owners[l.id] = l.owner
			b.WriteString(l.text + tag + strconv.Itoa(l.id) + end)
		}
		check.Write(p.t, p.twin.dir, f.path, b.String())
	}
}

func (p *past) commit() {
	p.tick()
	p.save()
	var paths []string
	for _, f := range p.papers {
		paths = append(paths, f.path)
	}
	if !slices.Equal(paths, p.paths) {
		p.must("add", "-A")
	}
	p.paths = paths
	p.must("commit", "-q", "-a", "--allow-empty", "-m", "work")
}

// tick has time pass, so that commits are newer than what was recorded before.
func (p *past) tick() {
	p.notes.clock = p.notes.clock.Add(2e9)
	p.clock = p.notes.clock
}

// load takes the files as git has left them.
func (p *past) load() {
	for _, f := range p.papers {
		name := filepath.FromSlash(f.path)
		real, err := os.ReadFile(filepath.Join(p.dir, name))
		tagged, twinErr := os.ReadFile(filepath.Join(p.twin.dir, name))
		if err != nil || twinErr != nil {
			p.parted = true
			return
		}
		var lines simFile
		for line := range strings.Lines(string(tagged)) {
			text, number, ok := strings.Cut(strings.TrimRight(line, "\r\n"), tag)
			id, err := strconv.Atoi(number)
			if !ok || err != nil {
				p.parted = true
				return
			}
			lines = append(lines, simLine{text, p.owners[id], id})
		}
		if f.become(lines); f.String() != string(real) {
			p.parted = true
			return
		}
	}
}

func (p *past) some() *paper { return p.papers[p.rand.IntN(len(p.papers))] }

// agent has a tool change a file, and gives it with the lines that are new.
func (p *past) agent() (*paper, map[int]bool) {
	f := p.some()
	before, owner := f.lines, f.owner()
	f.record(owner, f.written(before, asCut(before, f.byAgent(f.lines, owner)), owner), f.path)
	return f, newLines(before, f.lines)
}

// asCut decides which lines are new where a change can be cut in two ways (a brace among its like, a block that is replaced by
// one that has some of its lines): as the difference of the contents is cut, which is all that a record has.
func asCut(before, after simFile) simFile {
	after = slices.Clone(after)
	place := map[int]int{}
	for i, l := range after {
		place[l.id] = i
	}
	from, to := 0, 0
	same := func(until int) {
		for ; to < until; from, to = from+1, to+1 {
			k, there := place[before[from].id]
			switch {
			case !there: // it was written again as it was
				after[to] = before[from]
			case k != to && after[k].text == after[to].text:
				after[k], after[to] = after[to], after[k]
				place[after[k].id], place[after[to].id] = k, to
			}
		}
	}
	for _, h := range edit.Hunks(before.String(), after.String()) {
		same(h[2] - min(h[3], 1))
		from, to = from+h[1], to+h[3]
	}
	same(len(after))
	return after
}

// written gives to an agent what its record says that it wrote, also where it took what stood around a line away and put it
// back: the record has no other cut.
func (h *hand) written(before, after simFile, owner string) simFile {
	fresh := newLines(before, after)
	for _, hunk := range edit.Hunks(before.String(), after.String()) {
		for i := hunk[2] - min(hunk[3], 1); i < hunk[2]-min(hunk[3], 1)+hunk[3]; i++ {
			if !fresh[after[i].id] {
				after[i] = h.own(after[i].text, owner)
			}
		}
	}
	return after
}

func newLines(before, after simFile) map[int]bool {
	added := map[int]bool{}
	for _, l := range after {
		added[l.id] = true
	}
	for _, l := range before {
		delete(added, l.id)
	}
	return added
}

func (p *past) person() {
	f := p.some()
	f.become(asCut(f.lines, f.byPerson(f.lines, nil)))
}

// work is some changes, mostly by agents, each committed as it is.
func (p *past) work(n int) {
	for range n {
		if p.rand.IntN(4) == 0 {
			p.person()
		} else {
			p.agent()
		}
		p.commit()
	}
}

// fork works on two branches, and ends on main.
func (p *past) fork(n int) {
	p.must("checkout", "-q", "-b", "feature")
	p.work(n)
	p.must("checkout", "-q", "main")
	p.load()
	p.work(n)
	p.tick()
}

// join does what brings the branch into main, with conflicts resolved for one side if it must be.
func (p *past) join(commands ...[]string) {
	for _, c := range commands {
		if !p.both(c...) {
			p.parted = true
		}
	}
	p.both("branch", "-q", "-D", "feature")
	p.load()
}

// conflict has both branches change the same lines.
func (p *past) conflict() {
	f := p.some()
	change := func() {
		owner := f.owner()
		from := min(len(f.lines)/3, max(len(f.lines)-6, 0))
		next := slices.Clone(f.lines)
		for i := from; i < min(len(next), from+4); i++ {
			next[i] = f.reword(next[i], owner)
		}
		f.record(owner, next, f.path)
		p.commit()
	}
	p.must("checkout", "-q", "-b", "feature")
	change()
	p.work(1)
	p.must("checkout", "-q", "main")
	p.load()
	change()
	p.tick()
}

func (p *past) moveTo(f *paper, path string) {
	p.commit()
	f.path = path
	p.commit()
}
