package languages_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// topNames are the languages in which the names that a file declares for others
// are renamed over several files.
var topNames = []string{"java", "csharp", "php", "rust", "c", "kotlin", "cpp"}

// program is some files of one language, by path.
type program map[string]string

// TestBrokenRenamesOfSeveralFiles renames classes and functions in all files that
// have them, and then breaks it: no broken one may be proven. The programs are
// those of the corpus, and real ones with ORCHESTRA_SWEEP.
func TestBrokenRenamesOfSeveralFiles(t *testing.T) {
	for _, language := range topNames {
		if only := os.Getenv("ORCHESTRA_LANGUAGES"); only != "" && !slices.Contains(strings.Split(only, ","), language) {
			continue
		}
		c := &topCounts{t: t, language: language, random: seeded(7), broken: map[string]int{}}
		programs := corpusPrograms(t, language)
		if sweptDirectory() != "" {
			programs = sweptPrograms(t, language)
		} else if testing.Short() {
			programs = programs[:min(len(programs), 2)]
		}
		for _, p := range programs {
			c.program(p)
		}
		t.Logf("%s: %d programs, %d of %d renames recognised, broken ones tried %v, misses %v", language, len(programs), c.recognised, c.renames, c.broken, c.misses)
		if c.renames == 0 {
			t.Errorf("%s: nothing was renamed", language)
		}
		if sweptDirectory() == "" && c.recognised == 0 {
			t.Errorf("%s: nothing was recognised", language)
		}
	}
}

// corpusPrograms are those that the labelled pairs of several files begin with.
func corpusPrograms(t *testing.T, language string) (list []program) {
	name := language
	if language == "c" {
		name = "clang"
	}
	archive, err := txtar.ParseFile("../../testdata/corpus/joint-" + name + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]program{}
	for _, section := range archive.Files {
		part := strings.SplitN(section.Name, "/", 4)
		if part[0] != string(verdict.ProvenLocal) || part[2] != "before" {
			continue
		}
		if known[part[1]] == nil {
			known[part[1]] = program{}
			list = append(list, known[part[1]])
		}
		known[part[1]][part[3]] = string(section.Data)
	}
	return list
}

// sweptPrograms are real ones: the files of a directory.
func sweptPrograms(t *testing.T, language string) (list []program) {
	root := filepath.Join(sweptDirectory(), language)
	byDirectory := map[string]program{}
	var order []string
	for _, name := range spread(pathsBelow(t, root, extensions[language])) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(name)
		if byDirectory[dir] == nil {
			byDirectory[dir] = program{}
			order = append(order, dir)
		}
		if p := byDirectory[dir]; len(p) < 12 && len(text) < 25_000 && languages.Tokens(language, text) != nil {
			p[path.Join("dir", filepath.Base(name))] = string(text)
		}
	}
	programs := 8
	if os.Getenv("ORCHESTRA_LONG") == "1" {
		programs = 40
	}
	for _, dir := range order[:min(len(order), programs)] {
		list = append(list, byDirectory[dir])
	}
	return list
}

type topCounts struct {
	t        *testing.T
	language string
	random   *rand.Rand
	renames  int
	// recognised are those that are proven.
	recognised int
	broken     map[string]int
	misses     map[string]int
}

// place is a name in a program.
type place struct {
	path       string
	start, end int
}

// names are the places of the names of a program.
func (c *topCounts) names(p program) map[string][]place {
	found := map[string][]place{}
	for _, name := range slices.Sorted(keysOf(p)) {
		for _, token := range languages.Tokens(c.language, []byte(p[name])) {
			text := p[name][token.Start:token.End]
			if token.Named && !token.Comment && strings.Contains(token.Kind, "identifier") || token.Kind == "name" {
				found[text] = append(found[text], place{name, token.Start, token.End})
			}
		}
	}
	return found
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// program renames some of its names.
func (c *topCounts) program(p program) {
	names, tops := c.names(p), languages.TopNames(c.language, p)
	var candidates []string
	for _, name := range slices.Sorted(keysOf(names)) {
		if tops[name] {
			candidates = append(candidates, name)
		}
	}
	c.random.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
	for _, name := range candidates[:min(4, len(candidates))] {
		c.renames++
		v := c.judge(p, edited(p, names[name], "Zq"+name), name, "Zq"+name)
		if isProven(v) {
			c.recognised++
		} else {
			if c.misses == nil {
				c.misses = map[string]int{}
			}
			_, why, _ := strings.Cut(v.Reason, ": ")
			c.misses[digits(why)]++
		}
		c.breaks(p, names, tops, name)
	}
}

func digits(text string) string {
	parts := strings.Fields(text)
	for i, part := range parts {
		if strings.ContainsAny(part, `0123456789"`) || i == 0 {
			parts[i] = "…"
		}
	}
	return strings.Join(parts, " ")
}

func (c *topCounts) breaks(p program, names map[string][]place, tops map[string]bool, name string) {
	places := names[name]
	others := slices.Sorted(keysOf(names))
	other := others[c.random.IntN(len(others))]
	for what, after := range map[string]program{
		"one use left":         edited(p, without(places, c.random.IntN(len(places))), "Zq"+name),
		"one use too many":     edited(p, append(slices.Clone(places), names[other][c.random.IntN(len(names[other]))]), "Zq"+name),
		"the name of another":  edited(p, places, other),
		"only one use":         edited(p, places[:1], "Zq"+name),
		"two names, one twice": edited(edited(p, without(places, 0), "Zq"+name), c.names(edited(p, without(places, 0), "Zq"+name))[name], "Zr"+name),
	} {
		// A file that did not change is no part of the call.
		outside := slices.ContainsFunc(places, func(x place) bool { return p[x.path] == after[x.path] })
		foreign := what == "the name of another" && !slices.ContainsFunc(names[other], func(x place) bool { return p[x.path] != after[x.path] })
		// A name that stands in one place can be given to it, and in Rust a type may be
		// called as a method.
		free := len(names[other]) < 2 || c.language == "rust" && what == "the name of another" && !tops[other]
		free = free || c.language == "kotlin" && what == "the name of another" && behindDots(p, names[other])
		// A parameter may be called as its function, and in a declaration as anything.
		free = free || c.language == "cpp" && !tops[other] && (what == "the name of another" || isPrototype(p, names[other], after))
		if other == name || len(places) < 2 || outside || foreign || free || c.isNamespace(p, other) {
			continue
		}
		c.broken[what]++
		if v := c.judge(p, after, name, "Zq"+name); isProven(v) {
			c.t.Errorf("%s: %s of %s (%s) is %s: %s in %v", c.language, what, name, other, v.Evidence, v.Reason, slices.Sorted(keysOf(p)))
		}
	}
}

// isPrototype tells whether one of some places changed that stand in a
// declaration of a function.
func isPrototype(p program, places []place, after program) bool {
	return slices.ContainsFunc(places, func(x place) bool {
		line := p[x.path][x.start:]
		line, _, _ = strings.Cut(line, "\n")
		return p[x.path] != after[x.path] && strings.HasSuffix(line, ");") && strings.Count(line, "(") < strings.Count(line, ")")
	})
}

// behindDots tells whether a name is always a member's: functions may share it.
func behindDots(p program, places []place) bool {
	return !slices.ContainsFunc(places, func(x place) bool { return !strings.HasSuffix(strings.TrimSpace(p[x.path][:x.start]), ".") })
}

// isNamespace tells whether a name is that of a namespace of PHP: a class can be
// called so as well.
func (c *topCounts) isNamespace(p program, name string) bool {
	for _, text := range p {
		if c.language == "php" && (strings.Contains(text, "namespace "+name) || strings.Contains(text, name+`\`) || strings.Contains(text, `\`+name)) {
			return true
		}
	}
	return false
}

func without(places []place, i int) []place { return slices.Delete(slices.Clone(places), i, i+1) }

// edited is a program with another name at some places.
func edited(p program, places []place, to string) program {
	after := program{}
	for name, text := range p {
		var b strings.Builder
		at := 0
		own := slices.DeleteFunc(slices.Clone(places), func(x place) bool { return x.path != name })
		slices.SortFunc(own, func(x, y place) int { return x.start - y.start })
		for _, x := range own {
			if x.start < at {
				continue
			}
			b.WriteString(text[at:x.start] + to)
			at = x.end
		}
		after[name] = b.String() + text[at:]
	}
	return after
}

// judge compares the files that differ; one that is called as a class moves
// with it.
func (c *topCounts) judge(before, after program, was, is string) verdict.Verdict {
	var files []verdict.File
	for _, name := range slices.Sorted(keysOf(before)) {
		f := verdict.File{Path: name, Before: []byte(before[name]), After: []byte(after[name])}
		if ext := path.Ext(name); path.Base(name) == was+ext && before[name] != after[name] && c.language != "c" && c.language != "cpp" && c.language != "rust" {
			f.Path, f.From = path.Join(path.Dir(name), is+ext), name
		}
		if before[name] != after[name] {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return verdict.Verdict{Evidence: verdict.Unproven, Reason: ": nothing differs"}
	}
	read := func(name string) ([]byte, error) {
		if text, ok := before[name]; ok {
			return []byte(text), nil
		}
		return nil, fmt.Errorf("%s: %w", name, os.ErrNotExist)
	}
	list := func(dir string) (names []string, err error) {
		for name := range before {
			if path.Dir(name) == dir {
				names = append(names, path.Base(name))
			}
		}
		return names, nil
	}
	return languages.Together(func(verdict.File) string { return c.language }, c.language, verdict.Around{Read: read, List: list})(context.Background(), files, limits())
}
