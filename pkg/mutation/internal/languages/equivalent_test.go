package languages_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// readEquivalents reads the mutants that a person found to be the same program:
// lines of "FILE: MUTATION | REASON".
func readEquivalents(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("evidence/equivalent.txt")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if key, why, found := strings.Cut(strings.TrimSpace(line), " | "); found && !strings.HasPrefix(line, "#") {
			known[key] = why
		}
	}
	return known
}

// equivalent says why a mutant that is proven is the same program, without
// asking the judge: by the text, a compiler, or a person; "" if it is not known
// to be.
func equivalent(t *testing.T, language string, s source, m mutant, v verdict.Verdict, known map[string]string) string {
	t.Helper()
	if why := unused(m, v, s.text); why != "" {
		return why
	}
	if m.new != "" && withoutBody(language, s.text, m) {
		return "a parameter of a declaration that has no body"
	}
	if language == "php" && strings.HasPrefix(m.what, `";" became "; ;"`) {
		return "an empty statement"
	}
	if (language == "c" || language == "cpp") && strings.HasPrefix(m.what, `"\n`) && lines(s.text) == lines(m.text) {
		return "an empty line"
	}
	if why := sameProgram(t, language, s, m.text); why != "" {
		return why
	}
	return known[shortPath(s.path)+": "+m.what]
}

// unused: the old name stands nowhere else in the file, nor does the new one.
func unused(m mutant, v verdict.Verdict, text string) string {
	if m.old == "" || m.new == "" || len(v.Renames) != 1 || occurrences(text, m.old) != 1 {
		return ""
	}
	if occurrences(m.text, m.new) == 1 {
		return "a name that nothing uses"
	}
	if kind := v.Renames[0].Kind; (kind == "field" || kind == "method") && !strings.Contains(m.text, "."+m.new) {
		return "a member that nothing in the file uses"
	}
	return ""
}

// heads are how a declaration begins in front of its parameters.
var heads = map[string]*regexp.Regexp{
	"rust": regexp.MustCompile(`\bfn \w+(<.*>)?$`), "kotlin": regexp.MustCompile(`\bfun (<.*> )?[\w.]+$`), "php": regexp.MustCompile(`\bfunction &?\w+$`),
	"c": regexp.MustCompile(`\w[ *]+\w+$`), "cpp": regexp.MustCompile(`\w[ *&>]+~?\w+$`), "csharp": regexp.MustCompile(`[\w>\]?] +\w+(<.*>)?$`),
}

// statements begin like declarations in C and its kin, and are none.
var statements = regexp.MustCompile(`\b(return|else|new|throw|case|goto|await|delete|sizeof|yield|co_await|co_return|do|in|typeof|nameof)$`)

// withoutBody tells whether a mutant changed the name of a parameter of a
// declaration that has no body, where no other parameter has the new name.
func withoutBody(language, text string, m mutant) bool {
	head := heads[language]
	at := 0
	for at < min(len(text), len(m.text)) && text[at] == m.text[at] {
		at++
	}
	open := strings.LastIndexByte(text[:at], '(')
	if head == nil || open < 0 {
		return false
	}
	end := open + strings.IndexByte(text[open:]+")", ')')
	line := strings.TrimSpace(text[strings.LastIndexAny(text[:open], ";{}")+1 : open])
	inside := text[open+1 : min(end, len(text))]
	if end < at || strings.Contains(inside, "(") || !head.MatchString(line) || statements.MatchString(strings.TrimRight(line, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ")) {
		return false
	}
	if occurrences(inside, strings.TrimPrefix(m.old, "$")) != 1 || occurrences(inside, strings.TrimPrefix(m.new, "$")) != 0 {
		return false
	}
	// In C and its kin a type stands in front of the name; arguments have none.
	before := strings.TrimRight(inside[:max(0, strings.Index(inside, m.old))], " ")
	typed := language == "rust" || language == "kotlin" || language == "php" ||
		before != "" && strings.ContainsAny(before[len(before)-1:], "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789>]") || language == "c" && strings.HasSuffix(before, "*")
	rest := text[end+1:]
	stop := strings.IndexAny(rest, ";{=}")
	if language == "kotlin" {
		first, more, _ := strings.Cut(rest, "\n")
		more = strings.TrimSpace(more)
		return !strings.ContainsAny(first, "{=") && more != "" && !strings.ContainsAny(more[:1], "{=:")
	}
	return typed && stop >= 0 && rest[stop] == ';'
}

// lines are the lines of a text that are not empty.
func lines(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			out.WriteString(strings.TrimRight(line, " \r\n") + "\n")
		}
	}
	return out.String()
}

// sameProgram asks a compiler (evidence/same); "" if it says no, or is not on
// this machine.
func sameProgram(t *testing.T, language string, s source, after string) string {
	t.Helper()
	command, who := []string{}, ""
	switch language {
	case "javascript", "typescript", "tsx":
		command, who = []string{"node", "evidence/same/typescript.js"}, "TypeScript's parser and symbols"
	case "python":
		command, who = []string{"python3", "evidence/same/python.py"}, "Python's bytecode"
	case "ruby":
		command, who = []string{"ruby", "evidence/same/ruby.rb"}, "Ruby's instructions"
	case "java":
		command, who = []string{"java", "evidence/same/Same.java"}, "javac's tree and symbols"
	case "rust":
		command, who = []string{"sh", "evidence/same/rust.sh"}, "rustc's printer"
	default:
		return ""
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return ""
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"before": s.text, "after": after} {
		path := filepath.Join(dir, name+filepath.Ext(s.path))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ending := filepath.Ext(s.path)
	run := exec.Command(command[0], append(command[1:], filepath.Join(dir, "before"+ending), filepath.Join(dir, "after"+ending))...)
	if run.Run() != nil {
		return ""
	}
	return "the same for " + who
}

// occurrences counts a word in a text.
func occurrences(text, word string) (count int) {
	letter := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] == '_' || text[i] >= '0' && text[i] <= '9' || text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z' || text[i] > 127)
	}
	for at := 0; ; at++ {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return count
		}
		at += i
		if !letter(at-1) && !letter(at+len(word)) {
			count++
		}
	}
}
