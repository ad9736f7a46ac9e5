package blame_test

import (
	"fmt"
	"go/format"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// operation is what happens to the lines of agents, and how much of them must be known after it.
type operation struct {
	name   string
	files  func(string) bool // nil: all
	do     func(p *past)
	recall float64 // 0: as usual
	alone  bool    // without other edits, which a formatter could not read
}

func operations() []operation {
	return slices.Concat(joins(), rewrites(), returns(), moves(), beforeCommit())
}

func joins() []operation {
	return []operation{
		{name: "edits", do: func(p *past) { p.work(4) }},
		{name: "merge", do: func(p *past) {
			p.fork(2)
			p.join([]string{"merge", "-q", "--no-ff", "-X", "ours", "-m", "join", "feature"})
		}},
		{name: "merge with conflicts", do: func(p *past) {
			side := []string{"ours", "theirs"}[p.rand.IntN(2)]
			p.conflict()
			p.join([]string{"merge", "-q", "--no-ff", "-X", side, "-m", "join", "feature"})
		}},
		{name: "rebase", do: func(p *past) {
			p.fork(2)
			p.join([]string{"checkout", "-q", "feature"}, []string{"rebase", "-q", "-X", "ours", "main"},
				[]string{"checkout", "-q", "main"}, []string{"merge", "-q", "--ff-only", "feature"})
		}},
	}
}

func rewrites() []operation {
	return []operation{
		{name: "reorder", do: func(p *past) {
			for range 3 {
				p.work(1)
			}
			p.tick()
			p.join([]string{"-c", "sequence.editor=sed -i -e '1{h;d}' -e '2{G}'", "rebase", "-q", "-i", "HEAD~3"})
		}},
		{name: "squash", do: func(p *past) {
			p.work(3)
			p.tick()
			p.join([]string{"-c", "core.editor=true", "-c", "sequence.editor=sed -i -e '2,$s/^pick/squash/'", "rebase", "-q", "-i", "HEAD~3"})
		}},
		{name: "squash merge", do: func(p *past) {
			p.fork(2)
			p.join([]string{"merge", "-q", "--squash", "-X", "ours", "feature"}, []string{"commit", "-q", "--allow-empty", "-m", "squash"})
		}},
		{name: "cherry-pick", do: func(p *past) {
			p.fork(2)
			p.join([]string{"cherry-pick", "--allow-empty", "--keep-redundant-commits", "-X", "ours", "main..feature"})
		}},
	}
}

func returns() []operation {
	return []operation{
		{name: "amend", do: func(p *past) {
			p.work(1)
			p.agent()
			p.tick()
			p.save()
			p.must("add", "-A")
			p.must("commit", "-q", "--amend", "--allow-empty", "-m", "work")
		}},
		{name: "stash", do: func(p *past) {
			p.agent()
			p.save()
			if p.both("stash", "-q") {
				p.load()
				p.work(1)
				p.join([]string{"stash", "pop", "-q"})
				p.commit()
			}
		}},
		{name: "revert", do: func(p *past) {
			p.work(3)
			p.tick()
			p.join([]string{"revert", "--no-edit", "-X", "ours", "HEAD~1"})
			p.work(1)
			p.tick()
			if p.rand.IntN(2) == 0 {
				p.join([]string{"revert", "--no-edit", "-X", "ours", "HEAD~1"})
			}
		}},
	}
}

func moves() []operation {
	return []operation{
		{name: "rename", do: func(p *past) {
			f := p.some()
			p.moveTo(f, fmt.Sprintf("src/d%d/%s", p.rand.IntN(1e6), filepath.Base(f.path)))
			p.work(1)
			dir := fmt.Sprintf("src/all%d", p.rand.IntN(1e6))
			for _, f := range p.papers {
				f.path = dir + "/" + filepath.Base(f.path)
			}
			p.commit()
		}},
		{name: "split", do: func(p *past) {
			f := p.some()
			at := len(f.lines)/3 + p.rand.IntN(len(f.lines)/3+1)
			other := &paper{hand: f.hand, path: fmt.Sprintf("src/part%d-%s", p.rand.IntN(1e6), filepath.Base(f.path)), records: f.records}
			other.become(f.lines[at:])
			f.become(f.lines[:at])
			p.papers = append(p.papers, other)
			p.commit()
		}},
		{name: "join", do: func(p *past) {
			if len(p.papers) < 2 {
				return
			}
			a, b := p.papers[0], p.papers[1]
			a.become(slices.Concat(a.lines, b.lines))
			p.papers = slices.Delete(p.papers, 1, 2)
			p.commit()
		}},
		{name: "a block to another file", do: func(p *past) {
			f, other := p.papers[0], p.papers[len(p.papers)-1]
			if other == f || len(f.lines) < 40 || f.crlf != other.crlf {
				return
			}
			from, at := p.rand.IntN(len(f.lines)-25), p.rand.IntN(len(other.lines)+1)
			to := from + 5 + p.rand.IntN(20)
			other.become(slices.Concat(other.lines[:at], f.lines[from:to], other.lines[at:]))
			f.become(slices.Concat(f.lines[:from], f.lines[to:]))
			p.commit()
		}},
		{name: "CRLF", do: func(p *past) {
			f := p.some()
			f.crlf = !f.crlf
			f.become(f.lines)
			p.commit()
			p.work(1)
		}},
		{name: "tabs", do: func(p *past) {
			f := p.some()
			change := tabbed
			if strings.Contains(f.String(), "\t") {
				change = func(s string) string { return strings.ReplaceAll(s, "\t", "    ") }
			}
			f.become(mappedText(f.lines, change))
			p.commit()
		}},
		{name: "moved history", do: func(p *past) {
			to := fmt.Sprintf("src/sub%d", p.rand.IntN(1e6))
			p.must("filter-branch", "-f", "--tree-filter",
				"mkdir /tmp/moved$$ && mv src/* /tmp/moved$$/ && mkdir -p "+to+" && mv /tmp/moved$$/* "+to+"/ && rmdir /tmp/moved$$")
			for _, f := range p.papers {
				f.path = to + strings.TrimPrefix(f.path, "src")
			}
			p.load()
		}},
	}
}

// touched is an agent's change, and what a person or a program does to it before the commit.
func touched(touch func(p *past, f *paper, added []int)) func(*past) {
	return func(p *past) {
		for range 2 {
			f, added := p.agent()
			var at []int
			for i, l := range f.lines {
				if added[l.id] {
					at = append(at, i)
				}
			}
			if len(at) > 0 {
				touch(p, f, at)
			}
			p.commit()
		}
	}
}

func beforeCommit() []operation {
	return []operation{
		{name: "one line edited", do: touched(func(p *past, f *paper, added []int) {
			next, i := slices.Clone(f.lines), added[p.rand.IntN(len(added))]
			next[i] = f.reword(next[i], "")
			f.become(next)
		})},
		{name: "a blank line", do: touched(func(p *past, f *paper, added []int) {
			f.become(asCut(f.lines, slices.Insert(slices.Clone(f.lines), added[p.rand.IntN(len(added))], f.own("", ""))))
		})},
		{name: "reindented", do: touched(func(p *past, f *paper, added []int) {
			from := p.rand.IntN(len(added))
			next := slices.Clone(f.lines)
			for _, i := range added[from:min(len(added), from+1+p.rand.IntN(5))] {
				next[i].text = indentedOnce(next[i : i+1])[0].text
			}
			f.become(next)
		})},
		{name: "add -p", do: touched(func(p *past, f *paper, added []int) {
			whole, left := f.lines, map[int]bool{}
			for _, i := range added[len(added)/2:] {
				left[whole[i].id] = true
			}
			f.lines = slices.DeleteFunc(slices.Clone(whole), func(l simLine) bool { return left[l.id] })
			p.commit()
			f.lines = whole
		})},
		{name: "gofmt", files: isGo, alone: true, recall: 0.95, do: func(p *past) {
			for range 2 {
				p.unformatted()
				p.commit()
			}
		}},
		{name: "quotes and semicolons", files: func(name string) bool { return name == "javascript" }, recall: 0.6, do: touched(func(p *past, f *paper, added []int) {
			next := slices.Clone(f.lines)
			for _, i := range added {
				next[i].text = prettied(next[i].text)
			}
			f.become(next)
		})},
	}
}

func isGo(name string) bool { return strings.HasPrefix(name, "go-") }

// prettied has the other quotes and no semicolon at the end, as one formatter has it where another has not.
func prettied(s string) string {
	if !strings.Contains(s, `"`) {
		s = strings.ReplaceAll(s, "'", `"`)
	}
	return strings.TrimSuffix(s, ";")
}

// unformatted has an agent put in a function that is not formatted, and gofmt run before anybody commits.
func (p *past) unformatted() {
	at := p.rand.IntN(2)
	f, pool := p.papers[at], p.papers[1-at].pool
	owner := f.owner()
	var functions [][2]int
	for i, line := range pool {
		if strings.HasPrefix(line, "func ") && strings.HasSuffix(line, "{") {
			if n := slices.Index(pool[i:], "}"); n > 0 {
				functions = append(functions, [2]int{i, i + n + 1})
			}
		}
	}
	chosen := functions[p.rand.IntN(len(functions))]
	with := f.ownAll(pool[chosen[0]:chosen[1]], owner)
	for i := range with {
		with[i].text = strings.NewReplacer(" := ", ":=", "\t", "  ").Replace(with[i].text)
	}
	with = append(with, f.own("", owner))
	at = len(f.lines)
	for i, l := range f.lines {
		if strings.HasPrefix(l.text, "func ") && i > 0 && f.lines[i-1].text == "" && f.chance(40) {
			at = i
			break
		}
	}
	f.record(owner, slices.Concat(f.lines[:at], with, f.lines[at:]), f.path)
	formatted := check.Value(format.Source([]byte(f.String())))(p.t)
	f.become(f.setAs(f.lines, strings.Split(strings.TrimSuffix(string(formatted), "\n"), "\n")))
}

// setAs gives lines the texts that a formatter gave them: the same but for white space.
func (h *hand) setAs(f simFile, texts []string) (out simFile) {
	for _, text := range texts {
		for len(f) > 0 && record.Squeeze(f[0].text) != record.Squeeze(text) && record.Squeeze(f[0].text) == "" {
			f = f[1:]
		}
		if len(f) > 0 && record.Squeeze(f[0].text) == record.Squeeze(text) {
			out, f = append(out, simLine{text, f[0].owner, f[0].id}), f[1:]
			continue
		}
		out = append(out, h.own(text, ""))
	}
	return out
}
