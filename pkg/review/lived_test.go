package review_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// cutting is what somebody took out, and where it stood.
type cutting struct {
	at    int
	lines []told
}

// told is a line that says which it is.
type told struct {
	text string
	id   int
}

// lived is a repository of which the truth is known for each line. The workspace is in ws. In twin, which is outside of it and
// so of no concern to the gate, each file stands again with the numbers of its lines: git does the same to both.
type lived struct {
	*repo
	rand   *rand.Rand
	owner  map[int]string // of lines: agent, person, or base
	taker  map[int]string // of lines of the base: who took them out last
	texts  map[int]string
	cut    map[string]cutting // by path, what was taken out of a file last
	ids    int
	parted bool // git did something else to the twin
	log    []string
}

const tag = "\x01"

func newLived(t *testing.T, seed int) *lived {
	g := &lived{repo: newRepoWith(t, "ws", true), rand: rand.New(rand.NewPCG(uint64(seed), 2026)), owner: map[int]string{}, taker: map[int]string{},
		texts: map[int]string{}, cut: map[string]cutting{}}
	for i := range 3 {
		g.put(fmt.Sprintf("src/f%d.txt", i), g.some("base", 60))
	}
	g.commit("base files")
	g.git("switch", "-qc", "work")
	return g
}

// common are lines that stand everywhere.
var common = []string{"}", "", "\treturn nil", "\t}", "end"}

// some makes lines of somebody. One of four stands elsewhere too.
func (g *lived) some(who string, n int) (lines []told) {
	for range n {
		g.ids++
		text := fmt.Sprintf("\tvalue%d := compute(input, %d)", g.ids, g.rand.IntN(1000))
		if g.rand.IntN(4) == 0 {
			text = common[g.rand.IntN(len(common))]
		}
		lines = append(lines, g.of(who, text))
	}
	return lines
}

func (g *lived) of(who, text string) told {
	g.ids++
	g.owner[g.ids], g.texts[g.ids] = who, text
	return told{text, g.ids}
}

func (g *lived) name(tree, path string) string {
	return filepath.Join(g.top, tree, filepath.FromSlash(path))
}

func plain(lines []told) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

// put writes a file as a person does, and its twin.
func (g *lived) put(path string, lines []told) {
	g.write(path, plain(lines))
	g.putTwin(path, lines)
}

func (g *lived) putTwin(path string, lines []told) {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text + tag + strconv.Itoa(l.id) + "\n")
	}
	check.Write(g.t, g.top, "twin/"+path, b.String())
}

// read gives a file with the numbers of its lines.
func (g *lived) lines(path string) (lines []told) {
	content, err := os.ReadFile(g.name("twin", path))
	if err != nil {
		g.parted = true
		return nil
	}
	lines = g.parse(string(content))
	real, _ := g.repo.read(path)
	g.parted = g.parted || real != plain(lines)
	return lines
}

func (g *lived) parse(content string) (lines []told) {
	for line := range strings.Lines(content) {
		text, number, ok := strings.Cut(strings.TrimSuffix(line, "\n"), tag)
		id, err := strconv.Atoi(number)
		g.parted = g.parted || !ok || err != nil
		lines = append(lines, told{text, id})
	}
	return lines
}

func (g *lived) paths() (paths []string) {
	for _, e := range check.Value(os.ReadDir(g.name("twin", "src")))(g.t) {
		paths = append(paths, "src/"+e.Name())
	}
	return paths
}

// known are all lines of all files by their numbers.
func (g *lived) known() map[int]bool {
	known := map[int]bool{}
	for _, path := range g.paths() {
		for _, l := range g.lines(path) {
			known[l.id] = true
		}
	}
	return known
}

// edited is an edit by somebody: lines put in, replaced or taken out, in one or two places.
func (g *lived) edited(who string, lines []told) []told {
	for range 1 + g.rand.IntN(2) {
		at := g.rand.IntN(len(lines) + 1)
		out, in := min(g.rand.IntN(6), len(lines)-at), 1+g.rand.IntN(6)
		switch g.rand.IntN(3) {
		case 0:
			out = 0
		case 1:
			in = 0
		}
		lines = slices.Concat(lines[:at], g.some(who, in), lines[at+out:])
	}
	return lines
}

// change makes next the content of a file, and notes who took out what.
func (g *lived) change(who, path string, next []told) {
	before := g.lines(path)
	stays := map[int]bool{}
	for _, l := range next {
		stays[l.id] = true
	}
	var cut cutting
	for i, l := range before {
		if stays[l.id] {
			continue
		}
		g.taker[l.id] = who
		if len(cut.lines) == 0 || cut.at+len(cut.lines) == i {
			cut.at = i - len(cut.lines)
			cut.lines = append(cut.lines, l)
		}
	}
	if len(cut.lines) > 0 {
		g.cut[path] = cut
	}
	if who == "agent" {
		g.traced("INT-001", path, plain(next))
		g.putTwin(path, next)
		return
	}
	g.put(path, next)
}

func (g *lived) somePath() string {
	paths := g.paths()
	return paths[g.rand.IntN(len(paths))]
}

func (g *lived) agentEdits() {
	path := g.somePath()
	g.change("agent", path, g.edited("agent", g.lines(path)))
}

func (g *lived) personEdits() {
	path := g.somePath()
	lines := g.lines(path)
	switch cut := g.cut[path]; {
	case g.rand.IntN(2) == 0 && len(cut.lines) > 0: // puts back by hand what somebody took out
		at := min(cut.at, len(lines))
		var again []told
		for _, l := range cut.lines {
			again = append(again, g.of("person", l.text))
		}
		g.change("person", path, slices.Concat(lines[:at], again, lines[at:]))
	case g.rand.IntN(3) == 0: // indents
		at := g.rand.IntN(len(lines) + 1)
		next := slices.Clone(lines)
		for i := at; i < min(len(next), at+5); i++ {
			if next[i].text != "" {
				next[i].text = "\t" + next[i].text
			}
		}
		g.change("person", path, next)
	default:
		g.change("person", path, g.edited("person", lines))
	}
}

// attempt has git do what can fail by a conflict, and goes back then.
func (g *lived) attempt(abort string, args ...string) bool {
	if _, err := g.try(args...); err != nil {
		_, _ = g.try(abort, "--abort") // there is none in progress where there was nothing to do
		return false
	}
	return true
}

// byPerson gives to a person what a command of git brought and took.
func (g *lived) byPerson(do func() bool) {
	before := g.known()
	if !do() {
		return
	}
	after := g.known()
	for id := range after {
		if !before[id] && g.owner[id] != "base" {
			g.owner[id] = "person"
		}
	}
	for id := range before {
		if !after[id] {
			g.taker[id] = "person"
		}
	}
}

// step does something, and tells what.
func (g *lived) step() string {
	switch n := g.rand.IntN(100); {
	case n < 34:
		g.agentEdits()
		return "agent"
	case n < 48:
		g.personEdits()
		return "person"
	case n < 60:
		g.commit("work")
		return "commit"
	case n < 64:
		g.half()
		return "half"
	}
	g.commit("work")
	return g.gitStep()
}

// gitStep has somebody use git for more than commits.
func (g *lived) gitStep() string {
	switch g.rand.IntN(9) {
	case 0:
		g.mainGoesOn()
		g.attempt("merge", "merge", "-q", "--no-edit", "main")
		return "merge"
	case 1:
		g.mainGoesOn()
		g.attempt("rebase", "rebase", "-q", "main")
		return "rebase"
	case 2:
		g.byPerson(func() bool { return g.attempt("revert", "revert", "--no-edit", "HEAD") })
		return "revert"
	case 3:
		g.elsewhere()
		return "cherry-pick"
	case 4:
		g.agentEdits()
		g.git("add", "-A")
		g.git("commit", "-q", "--amend", "--allow-empty", "-m", g.git("log", "-1", "--format=%B")+g.trailer())
		return "amend"
	case 5:
		g.squash()
		return "squash"
	case 6:
		path := g.somePath()
		g.ids++
		next := fmt.Sprintf("src/g%d.txt", g.ids)
		g.git("mv", "ws/"+path, "ws/"+next)
		g.git("mv", "twin/"+path, "twin/"+next)
		g.commit("renamed")
		return "rename"
	case 7:
		takers := g.taker
		g.taker = map[int]string{}
		g.agentEdits()
		g.git("checkout", "-q", "--", ".")
		g.taker = takers
		return "discard"
	default:
		g.agentEdits()
		g.git("stash", "-q")
		g.personEdits()
		g.commit("by hand")
		if _, err := g.try("stash", "pop", "-q"); err != nil { // a conflict: the agent's edit is given up
			g.git("reset", "-q", "--hard")
			_, _ = g.try("stash", "drop", "-q") // or there was none, where the edit changed nothing
		}
		return "stash"
	}
}

// half commits a part of what was added.
func (g *lived) half() {
	path := g.somePath()
	before := g.lines(path)
	was := map[int]bool{}
	for _, l := range before {
		was[l.id] = true
	}
	whole := slices.Concat(before[:len(before)/2], g.some("agent", 6), before[len(before)/2:])
	g.change("agent", path, whole)
	left := 0
	g.put(path, slices.DeleteFunc(slices.Clone(whole), func(l told) bool {
		if was[l.id] {
			return false
		}
		left++
		return left%2 == 0
	}))
	g.commit("half")
	g.put(path, whole)
}

// mainGoesOn has an agent and a person work on the branch that is merged into.
func (g *lived) mainGoesOn() {
	g.git("switch", "-q", "main")
	path := g.somePath()
	g.change("agent", path, append(g.some("base", 3), g.lines(path)...))
	g.commit("main goes on")
	g.git("switch", "-q", "work")
}

// elsewhere has an agent work on two branches, and brings the work of one here.
func (g *lived) elsewhere() {
	g.git("switch", "-qC", "other")
	g.agentEdits()
	g.commit("wanted")
	g.git("switch", "-qC", "third", "work")
	takers := g.taker
	g.taker = map[int]string{}
	g.agentEdits()
	g.commit("not wanted")
	g.taker = takers
	g.git("switch", "-q", "work")
	g.attempt("cherry-pick", "cherry-pick", "other")
}

// squash makes one commit of the last two, with their messages.
func (g *lived) squash() {
	if len(strings.Fields(g.git("rev-list", "--no-merges", "main..work"))) < 3 || g.git("rev-list", "--merges", "-1", "main..work") != "" {
		return
	}
	messages := g.git("log", "-2", "--format=%B")
	g.git("reset", "-q", "--soft", "HEAD~2")
	g.git("commit", "-q", "--allow-empty", "-m", messages)
}
