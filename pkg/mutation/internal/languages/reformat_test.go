package languages_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/languages"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// TestReformat runs the formatters that people use over real files from
// ORCHESTRA_SWEEP and counts what is recognised. It is for machines that have
// the formatters: black, clang-format and rustfmt in PATH, and prettier with
// its plugins in the directory that ORCHESTRA_PRETTIER names.
func TestReformat(t *testing.T) {
	if os.Getenv("ORCHESTRA_SWEEP") == "" {
		checkFormatted(t)
		return
	}
	for _, language := range languages.Names() {
		command := formatter(language)
		if command == nil {
			continue
		}
		dir, before := t.TempDir(), map[string]string{}
		for _, text := range collect(t, filepath.SplitList(os.Getenv("ORCHESTRA_SWEEP")), extensions[language], 150) {
			if languages.Tokens(language, []byte(text)) == nil {
				continue
			}
			path := filepath.Join(dir, fmt.Sprintf("f%d%s", len(before), extensions[language][0]))
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			before[path] = text
		}
		format(t, command, before)
		changed, proven := 0, 0
		for path, text := range before {
			after, err := os.ReadFile(path)
			if err != nil || string(after) == text {
				continue
			}
			changed++
			if v := evidence(language, path, text, string(after)); v.Evidence == verdict.Proven {
				proven++
			} else {
				t.Logf("%s: %s", language, v.Reason)
				keepMiss(path, text, string(after))
			}
		}
		t.Logf("%s: %d of %d reformatted files proven", language, proven, changed)
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

func formatter(language string) []string {
	prettier := os.Getenv("ORCHESTRA_PRETTIER")
	command := map[string][]string{
		"python": {"black", "-q"}, "rust": {"rustfmt", "--edition", "2021", "--config", "skip_children=true,reorder_imports=false,reorder_modules=false"}, "c": {"clang-format", "-i", "--style={BasedOnStyle: LLVM, BreakStringLiterals: false, SortIncludes: Never, SortUsingDeclarations: false}"},
		"cpp": {"clang-format", "-i", "--style={BasedOnStyle: LLVM, BreakStringLiterals: false, SortIncludes: Never, SortUsingDeclarations: false}"}, "csharp": {"clang-format", "-i", "--style=Google"}, "java": {"clang-format", "-i", "--style={BasedOnStyle: Google, BreakStringLiterals: false, SortIncludes: Never}"},
		"javascript": {"prettier"}, "typescript": {"prettier"}, "tsx": {"prettier"}, "php": {"prettier", "--plugin=@prettier/plugin-php"},
	}[language]
	if len(command) > 0 && command[0] == "prettier" {
		if prettier == "" {
			return nil
		}
		command = append([]string{filepath.Join(prettier, "node_modules/.bin/prettier"), "--write", "--log-level=silent", "--no-config"}, command[1:]...)
	}
	if len(command) == 0 {
		return nil
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return nil
	}
	return command
}

// format runs a formatter over files in place; those that it cannot read stay.
func format(t *testing.T, command []string, files map[string]string) {
	t.Helper()
	var names []string
	for path := range files {
		names = append(names, path)
	}
	for len(names) > 0 {
		some := names[:min(len(names), 25)]
		names = names[len(some):]
		run := exec.Command(command[0], append(command[1:len(command):len(command)], some...)...)
		run.Dir = os.Getenv("ORCHESTRA_PRETTIER")
		if out, err := run.CombinedOutput(); err != nil && len(out) > 0 {
			t.Logf("%s: %v: %.200s", command[0], err, out)
		}
	}
}
