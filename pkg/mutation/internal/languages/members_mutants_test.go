package languages_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
)

// TestBrokenRenames renames members of real programs as a careless person does:
// one use left out, one of something else too many, to a name that another
// member has; more often those whose whole renaming is recognised. None of it may
// be proven, but for what equivalent knows. The whole renaming is held to
// nothing: a member that another file declares is not this file's to rename.
func TestBrokenRenames(t *testing.T) {
	files, perFile := 1, 4
	switch {
	case sweptDirectory() != "":
		files, perFile = 40, 8
	case testing.Short():
		perFile = 1
	}
	known := readEquivalents(t)
	for _, language := range languages.Names() {
		texts, _ := sources(t, language, files)
		a := attack{language: language, known: known, tried: map[string]int{}, proven: map[string]int{}}
		for i, s := range texts {
			random := seeded(uint64(3000 + i))
			words := membersOf(language, s.text)
			chance := random.Perm(len(words))
			slices.SortStableFunc(chance, func(a, b int) int { return words[b].renamable - words[a].renamable })
			for _, at := range chance[:min(perFile, len(words))] {
				// What is recognised is attacked four times.
				for round := 0; round == 0 || a.recognised && round < 4; round++ {
					for _, m := range broken(random, s.text, words, at, round) {
						a.judge(t, s, m)
					}
				}
			}
		}
		if len(texts) > 0 {
			t.Logf("%s: %d files; tried %v, proven %v", language, len(texts), a.tried, a.proven)
		}
	}
}

// attack counts the renamings of a language. recognised tells whether the last
// one that is whole was.
type attack struct {
	language      string
	known         map[string]string
	tried, proven map[string]int
	recognised    bool
}

func (a *attack) judge(t *testing.T, s source, m mutant) {
	t.Helper()
	what, _, _ := strings.Cut(m.what, ":")
	a.tried[what]++
	v := evidence(a.language, s.path, s.text, m.text)
	if what == "whole" {
		a.recognised = isProven(v)
	}
	if !isProven(v) {
		return
	}
	a.proven[what]++
	if what == "whole" || a.known[shortPath(s.path)+": "+m.what] != "" || what == "collision" && apartByClass(s.text, m.old, m.new) ||
		what == "left out" && a.language == "php" && parameterAlone(s.text, m) ||
		sameProgram(t, a.language, s, m.text) != "" {
		return
	}
	t.Errorf("%s: %s: falsely %s: %v %s", shortPath(s.path), m.what, v.Evidence, v.Renames, v.Reason)
	keepMiss(fmt.Sprintf("broken-%s-%d-%s", a.language, a.tried[what], filepath.Base(s.path)), s.text, m.text)
}

// member is a name of the file with the places that have it.
type member struct {
	name string
	// role tells methods, fields and constants of PHP, Java, Kotlin and Rust apart, which can have
	// the same name.
	role string
	// renamable counts the places where the judge takes it for a member that may
	// be renamed, which are attacked first.
	renamable int
	at        []languages.Token
	// behind are the places behind an accessor. foreign names have no others, in
	// a language in which a declaration would be one.
	behind  map[int]bool
	foreign bool
}

// another tells whether a place is the only one behind an accessor, so that it
// is a member and the others can be a local variable or function.
func (m member) another(token languages.Token) bool {
	declares := func(o languages.Token) bool {
		return o.Start != token.Start && (strings.Contains(o.Kind, "field") || strings.Contains(o.Kind, "property"))
	}
	return len(m.behind) == 1 && m.behind[token.Start] && !slices.ContainsFunc(m.at, declares)
}

// declared languages declare members before they are used.
var declared = map[string]bool{"c": true, "cpp": true, "csharp": true, "java": true, "kotlin": true, "rust": true}

// accessors stand in front of the name of a member.
var accessors = map[string][]string{
	"c": {".", "->"}, "cpp": {".", "->", "::"}, "csharp": {".", "?."}, "java": {".", "::"}, "javascript": {".", "?."}, "kotlin": {".", "?.", "::"},
	"php": {"->", "?->", "::"}, "python": {"."}, "ruby": {".", "&."}, "rust": {".", "::"}, "tsx": {".", "?."}, "typescript": {".", "?."},
}

// membersOf are the names that stand behind a dot or the like somewhere in a
// text, or are members to the judge, and stand at least twice in it.
func membersOf(language, text string) (list []member) {
	tokens := languages.Tokens(language, []byte(text))
	places := map[string][]languages.Token{}
	behind := map[string]map[int]bool{}
	isMember, roles, renamable := map[string]bool{}, map[string]string{}, map[string]int{}
	for i, token := range tokens {
		word := text[token.Start:token.End]
		if token.Comment || !token.Named || strings.ContainsAny(word, " \"'`\n") {
			continue
		}
		places[word] = append(places[word], token)
		before := ""
		if i > 0 {
			before = text[tokens[i-1].Start:tokens[i-1].End]
		}
		if token.Member {
			renamable[word] = 1
		}
		if slices.Contains(accessors[language], before) {
			if behind[word] == nil {
				behind[word] = map[int]bool{}
			}
			behind[word][token.Start] = true
		}
		isMember[word] = isMember[word] || token.Member || len(behind[word]) > 0 || strings.HasPrefix(word, "@")
		if language == "php" || language == "java" || language == "kotlin" || language == "rust" {
			roles[word] = max(roles[word], role(text, before, token))
		}
	}
	for word, at := range places {
		if isMember[word] && len(at) > 1 && len(word) > 1 {
			list = append(list, member{word, roles[word], renamable[word], at, behind[word], declared[language] && len(at) == len(behind[word])})
		}
	}
	slices.SortFunc(list, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return list
}

// role is what a name stands for at a place.
func role(text, before string, token languages.Token) string {
	switch {
	case strings.HasPrefix(strings.TrimSpace(text[token.End:]), "("):
		return "method"
	case before == "::" || before == "const":
		return "constant"
	}
	return ""
}

// broken makes three renamings that are wrong, in the first round after the one
// that is right.
func broken(random *rand.Rand, text string, words []member, at, round int) (mutants []mutant) {
	chosen, other := words[at], words[random.IntN(len(words))]
	fresh := chosen.name + "Renamed"
	if strings.HasSuffix(chosen.name, "?") || strings.HasSuffix(chosen.name, "!") || strings.Contains(text, fresh) {
		return nil
	}
	if round == 0 {
		mutants = append(mutants, spelled(text, "whole", chosen.name, fresh, chosen.at))
	}
	left := random.IntN(len(chosen.at))
	if !chosen.another(chosen.at[left]) {
		mutants = append(mutants, spelled(text, "left out", chosen.name, fresh, slices.Delete(slices.Clone(chosen.at), left, left+1)))
	}
	if other.name != chosen.name && other.role == chosen.role && !other.foreign {
		more := append(slices.Clone(chosen.at), other.at[random.IntN(len(other.at))])
		mutants = append(mutants, spelled(text, "too many", chosen.name, fresh, more), spelled(text, "collision", chosen.name, other.name, chosen.at))
	}
	return mutants
}

// spelled writes a name at places.
func spelled(text, what, old, fresh string, at []languages.Token) mutant {
	at = slices.SortedFunc(slices.Values(at), func(a, b languages.Token) int { return a.Start - b.Start })
	var out strings.Builder
	end := 0
	for _, token := range at {
		out.WriteString(text[end:token.Start] + fresh)
		end = token.End
	}
	what = fmt.Sprintf("%s: %s became %s at %d places, the first in line %d", what, old, fresh, len(at), 1+strings.Count(text[:at[0].Start], "\n"))
	return mutant{text: out.String() + text[end:], what: what, old: old, new: fresh}
}
