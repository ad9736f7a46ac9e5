package languages_test

import (
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// memberUses match, in group 1, the names of members that a line of each
// language declares or uses of its own class. They know nothing of the judge.
var memberUses = map[string]*regexp.Regexp{
	"javascript": regexp.MustCompile(`(?m)this\.(\w+)\b|^\s+(?:static |async |get |set )*(\w+)\s*\([^()\n]*\) *\{$`),
	"typescript": regexp.MustCompile(`(?m)this\.(\w+)\b|^\s+(?:private |readonly |static |async |get |set )+(\w+)\b`),
	"python":     regexp.MustCompile(`(?m)self\.(\w+)\b|^    def (\w+)\(self`),
	"php":        regexp.MustCompile(`\$this->(\w+)\b|(?:private|protected)(?: static| readonly| \??[\w\\]+)* \$?(\w+)\b`),
	"ruby":       regexp.MustCompile(`@(\w+)\b`),
	"java":       regexp.MustCompile(`private [\w<>, \[\]]+ (\w+)\b`),
	"csharp":     regexp.MustCompile(`private [\w<>, \[\]?]+ (\w+)\b`),
	"cpp":        regexp.MustCompile(`(?m)^ +[\w:<>*&, ]+[ *&](\w+_)(?: = [^;\n]*|\{[^;\n]*\})?;`),
	"kotlin":     regexp.MustCompile(`private (?:[a-z]+ )*(?:val|var|fun) (\w+)\b`),
}

// keywords look like methods to memberUses.
var keywords = map[string]bool{"for": true, "while": true, "switch": true, "catch": true, "constructor": true, "with": true, "function": true, "final": true}

var word = regexp.MustCompile(`[\w$]+`)

// TestMemberSweep gives members of real files (as TestSweep takes them) other
// names: all uses of a name, which must mostly be proven where every use is
// one of its own class, all but one, and the name of another member, which
// must never be.
func TestMemberSweep(t *testing.T) {
	files, times := 3, 4
	if sweptDirectory() != "" {
		files, times = 150, 6
	}
	random := rand.New(rand.NewPCG(9, 10))
	for _, language := range []string{"javascript", "typescript", "python", "java", "php", "ruby", "csharp", "kotlin", "cpp"} {
		renamed, proven, known, knownProven, wrong := 0, 0, 0, 0, 0
		texts, _ := sources(t, language, files)
		for _, s := range texts {
			path, text := s.path, s.text
			names := members(language, text)
			for range min(times, len(names)) {
				name := names[random.IntN(len(names))]
				uses := places(text, name)
				fresh := name + "Renamed"
				if own(language, text, name, uses) {
					v := evidence(language, path, text, spell(text, uses, len(name), fresh))
					renamed++
					if inherits.MatchString(text) {
						known++
						if isProven(v) {
							knownProven++
						}
					}
					if isProven(v) {
						proven++
					} else if os.Getenv("ORCHESTRA_MISSES") != "" {
						t.Logf("missed: %s: %s", name, v.Reason)
					}
				}
				left := slices.Clone(uses)
				if i := random.IntN(len(left)); len(left) > 1 && !inComment(language, text, left[i]) && !another(language, text, name, uses, left[i]) {
					wrong++
					left = slices.Delete(left, i, i+1)
					refuse(t, language, path, text, spell(text, left, len(name), fresh), name+": one use left")
				}
				if other := names[random.IntN(len(names))]; other != name && strings.Count(text, "class ") == 1 && (language != "kotlin" || !strings.Contains(text, "object ")) && called(text, name) == called(text, other) {
					wrong++
					refuse(t, language, path, text, spell(text, uses, len(name), other), name+" became "+other)
				}
			}
		}
		t.Logf("%s: %d of %d renames of members proven, of these %d of %d where others may know them; %d that are none", language, proven, renamed, knownProven, known, wrong)
	}
}

func refuse(t *testing.T, language, path, text, mutant, what string) {
	t.Helper()
	// Without a renaming only comments changed.
	member := func(r verdict.Rename) bool {
		return slices.Contains([]string{"field", "method", "property", "function"}, r.Kind)
	}
	if v := evidence(language, path, text, mutant); isProven(v) && slices.ContainsFunc(v.Renames, member) {
		t.Errorf("%s: %s: falsely %s: %s", path, what, v.Evidence, verdict.Summary(v))
	}
}

// members are the names that lines of the text declare or use as members.
func members(language, text string) (names []string) {
	for _, m := range memberUses[language].FindAllStringSubmatch(text, -1) {
		for _, name := range m[1:] {
			if len(name) > 2 && !strings.HasPrefix(name, "__") && !keywords[name] && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// places are where a word stands.
func places(text, name string) (at []int) {
	sigil := ""
	if strings.HasPrefix(text, "<?") {
		sigil = "$"
	}
	for _, m := range word.FindAllStringIndex(text, -1) {
		if found := strings.TrimPrefix(text[m[0]:m[1]], sigil); found == name {
			at = append(at, m[1]-len(name))
		}
	}
	return at
}

// own tells whether each place of a name is a member's of its own class, by the
// text around it.
func own(language, text, name string, uses []int) bool {
	count := 0
	for _, m := range memberUses[language].FindAllStringSubmatch(text, -1) {
		if slices.Contains(m[1:], name) {
			count++
		}
	}
	if language == "java" || language == "csharp" || language == "kotlin" || language == "cpp" { // what is used without a dot
		count = 0
		for _, at := range uses {
			if at > 0 && text[at-1] != '.' && !strings.HasSuffix(text[:at], "->") || strings.HasSuffix(text[:at], "this->") || strings.HasSuffix(text[:at], "this.") {
				count++
			}
		}
	}
	if language == "php" && !regexp.MustCompile(`private[ \w?\\|]* \$?`+name+`\b`).MatchString(text) {
		return false // it is inherited, or others can see it
	}
	// What nothing uses of this may be of an object that is no class's.
	script := language == "javascript" || language == "typescript"
	return count == len(uses) && (!script || strings.Contains(text, "this."+name) && strings.Contains(text, "class "))
}

// inherits matches what makes members those of others, or finds them by name.
var inherits = regexp.MustCompile(`(?m)extends|implements|^class \w+\([^)]|@\w|__dict__|getattr|JSON\.|Object\.|\.\.\.|Serializable|\bvars\(|inspect|pickle`)

func inComment(language, text string, at int) bool {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	return strings.ContainsAny(line, "*#\"'`") || strings.Contains(line, "//") || language == "python" && strings.Count(text[:at], `"""`)%2 == 1 ||
		strings.LastIndex(text[:at], "/*") > strings.LastIndex(text[:at], "*/")
}

// spell puts another name at each place.
func spell(text string, at []int, length int, name string) string {
	var out strings.Builder
	from := 0
	for _, start := range at {
		out.WriteString(text[from:start] + name)
		from = start + length
	}
	return out.String() + text[from:]
}

// another tells whether the use of a name at a place may be of something else,
// so that to leave it as it is is no mistake: a field and a method of Java that
// share a name, what others can see, what stands behind a dot, a local of Ruby.
func another(language, text, name string, uses []int, at int) bool {
	switch language {
	case "ruby":
		return at == 0 || text[at-1] != '@'
	case "java", "csharp", "kotlin":
	default:
		return false
	}
	calls := 0
	for _, use := range uses {
		if strings.HasPrefix(text[use+len(name):], "(") {
			calls++
		}
	}
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	return calls > 0 && calls < len(uses) || regexp.MustCompile(`\b(public|protected|internal|override)\b|\.$`).MatchString(line) && !strings.HasSuffix(line, "this.")
}

// called tells whether a name is called anywhere: in Java methods and fields
// can share one.
func called(text, name string) bool { return strings.Contains(text, name+"(") }
