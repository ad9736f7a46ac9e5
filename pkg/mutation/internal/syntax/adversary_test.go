package syntax_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/syntax"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// languages are those whose programs are run. The short form leaves out those whose compilers take long.
var languages = []struct {
	extension string
	edits     int // of each program: in the short form half as many, in the long one 80 times
	long      bool
	run       string // reads a list, or is a line of the shell that runs one program
	needs     string
}{
	{"js", 50, false, "testdata/adversary/run.js", "node"},
	{"py", 50, false, "testdata/adversary/run.py", "python3"},
	{"c", 10, false, "gcc -w -o x a.c && ./x", "gcc"},
	{"cpp", 15, true, "g++ -w -std=c++20 -o x a.cpp && ./x", "g++"},
	{"rs", 12, true, "rustc -A warnings -o x a.rs && ./x", "rustc"},
	{"java", 6, true, "cp a.java Main.java && javac -nowarn -d . Main.java && java -XX:TieredStopAtLevel=1 Main", "javac"},
	{"go", 12, true, "go run a.go", "go"},
	{"rb", 30, true, "ruby -W0 a.rb", "ruby"},
	{"php", 30, true, "php -n -d error_reporting=E_ERROR a.php", "php"},
}

// TestAdversary makes texts that could deceive out of programs, and runs what is
// proven: it must print what it printed before.
func TestAdversary(t *testing.T) {
	for _, language := range languages {
		if language.long && !check.Long() {
			continue
		}
		t.Run(language.extension, func(t *testing.T) {
			data := check.Value(os.ReadFile("testdata/adversary/programs." + language.extension + ".txt"))(t)
			check.Needs(t, language.needs)
			programs := strings.Split(string(data), "-- program --\n")
			edits := check.Rounds(language.edits/2, language.edits*80)
			before, after := proven(t, language.extension, programs, edits)
			was, is := run(t, language.needs, language.run, before), run(t, language.needs, language.run, after)
			for i := range was {
				if was[i] != is[i] {
					t.Errorf("proven, but it printed\n%s\nand prints\n%s\nbefore:\n%s\nafter:\n%q", was[i], is[i], before[i], after[i])
				}
			}
			t.Logf("%d of %d texts are proven", len(before), edits*len(programs))
		})
	}
}

// proven edits programs, and gives those texts that are proven to be the same, each once.
func proven(t *testing.T, extension string, programs []string, edits int) (before, after []string) {
	r, seen := rand.New(rand.NewPCG(7, 7)), map[string]bool{}
	for _, p := range programs {
		for range edits {
			edited := deceive(r, p)
			if edited == p || seen[edited] {
				continue
			}
			seen[edited] = true
			f := verdict.File{Path: "a." + extension, Before: []byte(p), After: []byte(edited)}
			if syntax.Judge(nil)(t.Context(), []verdict.File{f}, verdict.Limits{Depth: 2000}).Evidence == verdict.Proven {
				before, after = append(before, p), append(after, edited)
			}
		}
	}
	return before, after
}

// run gives what each program prints.
func run(t *testing.T, needs, how string, programs []string) (printed []string) {
	t.Helper()
	if !strings.HasPrefix(how, "testdata/") {
		return runEach(t, how, programs)
	}
	input := check.Value(json.Marshal(programs))(t)
	cmd := exec.CommandContext(t.Context(), needs, how)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &printed)
	}
	if err != nil || len(printed) != len(programs) {
		t.Fatal(fmt.Errorf("%s: %w", needs, err))
	}
	return printed
}

// runEach runs each program by a line of the shell, and one that comes again not again.
func runEach(t *testing.T, line string, programs []string) (printed []string) {
	once := map[string]func() string{}
	var all errgroup.Group
	all.SetLimit(runtime.NumCPU())
	for _, p := range programs {
		if once[p] == nil {
			get := sync.OnceValue(func() string { return output(t, line, p) })
			once[p] = get
			all.Go(func() error { get(); return nil })
		}
	}
	check.OK(t, all.Wait())
	for _, p := range programs {
		printed = append(printed, once[p]())
	}
	return printed
}

func output(t *testing.T, line, program string) string {
	dir := t.TempDir()
	name := regexp.MustCompile(`a\.\w+`).FindString(line)
	check.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(program), 0o600))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "ulimit -t 10; "+line)
	cmd.Dir = dir
	out, err := cmd.Output() // what a compiler says of it is no part of what it prints
	printed := strings.ReplaceAll(string(out), dir, "")
	if err != nil {
		return fmt.Sprintf("%s%v", printed, err)
	}
	return printed
}

var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// nasty are pieces that some readers take for layout, and others do not.
var nasty = []string{" ", "  ", "\t", "\n", "\n\n", "\r", "\r\n", "\f", "\v", "\u0085", "\u00a0", "\u2028", "\u2029", "\ufeff", "\u200b", "\\\n", "\\ \n", "\\\r\n",
	"// x\n", "/* x */", "/* x\n*/", "//\r", "# x\n", "#\r", "#\u2028", "<!-- x\n", "\n--> x\n", "#!x\n", ";", ";\n", "(", ")", ",", "'", "\"", "`", "\"\"\"",
	"    ", "        ", "\n    ", "\n\t", "\n        ", "\n  # x\n", "\n//", "pass", "\n'use strict'\n", "0", "x",
	"// x \\\n", "// x ??/\n", "??/\n", "@", "::", "<", ">", "&", "-", "$", ":", "\n=begin\nx\n=end\n", "?>", "?>\n", "<?php ", "\n#define n m\n", "\n#\n", "r#", "_", "\\", "{", "}", "/*", "*/", "__END__\n", "\u00e9"}

// deceive changes a program in one to three places.
func deceive(r *rand.Rand, text string) string {
	for range 1 + r.IntN(3) {
		switch r.IntN(5) {
		case 0:
			text = renamed(r, text)
		case 1: // take white space out
			if i := strings.IndexAny(text[r.IntN(len(text)):], " \n\t"); i >= 0 {
				text = text[:i] + text[i+1:]
			}
		case 2: // indent a line otherwise
			lines := strings.SplitAfter(text, "\n")
			i := r.IntN(len(lines))
			lines[i] = strings.Repeat([]string{" ", "\t", "    "}[r.IntN(3)], r.IntN(3)) + strings.TrimLeft(lines[i], " ")
			text = strings.Join(lines, "")
		default:
			at := r.IntN(len(text) + 1)
			if i := strings.IndexAny(text[min(at, len(text)):], " \n(){};:=,"); i >= 0 && r.IntN(4) > 0 {
				at += i
			}
			text = text[:at] + nasty[r.IntN(len(nasty))] + text[at:]
		}
	}
	return text
}

// renamed gives a word another name, everywhere, in a stretch, or once.
func renamed(r *rand.Rand, text string) string {
	places := word.FindAllStringIndex(text, -1)
	at := places[r.IntN(len(places))]
	name, other := text[at[0]:at[1]], []string{"other", "a", "x", "n", "value"}[r.IntN(5)]
	from, to := 0, len(text)
	switch r.IntN(3) {
	case 1:
		from, to = at[0], at[1]
	case 2:
		from, to = r.IntN(at[0]+1), at[1]+r.IntN(len(text)-at[1]+1)
	}
	return text[:from] + regexp.MustCompile(`\b`+name+`\b`).ReplaceAllString(text[from:to], other) + text[to:]
}
