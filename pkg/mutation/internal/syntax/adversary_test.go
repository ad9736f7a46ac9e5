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
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/syntax"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/verdict"
)

// TestAdversary makes texts that could deceive out of programs, and runs what is
// proven: it must print what it printed before.
func TestAdversary(t *testing.T) {
	edits := 100
	if os.Getenv("ORCHESTRA_LONG") != "" {
		edits = 4000
	}
	for _, language := range []struct{ extension, command string }{{"js", "node"}, {"py", "python3"}} {
		t.Run(language.extension, func(t *testing.T) {
			data, err := os.ReadFile("testdata/adversary/programs." + language.extension + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			var before, after []string
			r := rand.New(rand.NewPCG(7, 7))
			programs := strings.Split(string(data), "-- program --\n")
			for _, p := range programs {
				for range edits {
					edited := deceive(r, p)
					if edited == p {
						continue
					}
					f := verdict.File{Path: "a." + language.extension, Before: []byte(p), After: []byte(edited)}
					if syntax.Judge(nil)(t.Context(), []verdict.File{f}, verdict.Limits{Depth: 2000}).Evidence == verdict.Proven {
						before, after = append(before, p), append(after, edited)
					}
				}
			}
			was, is := run(t, language.command, language.extension, before), run(t, language.command, language.extension, after)
			for i := range was {
				if was[i] != is[i] {
					t.Errorf("proven, but it printed\n%s\nand prints\n%s\nbefore:\n%s\nafter:\n%q", was[i], is[i], before[i], after[i])
				}
			}
			t.Logf("%d of %d texts are proven", len(before), edits*len(programs))
		})
	}
}

// run gives what each program prints.
func run(t *testing.T, command, extension string, programs []string) (printed []string) {
	t.Helper()
	input, err := json.Marshal(programs)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), command, filepath.Join("testdata", "adversary", "run."+extension))
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &printed)
	}
	if err != nil || len(printed) != len(programs) {
		t.Fatal(fmt.Errorf("%s: %w", command, err))
	}
	return printed
}

var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// nasty are pieces that some readers take for layout, and others do not.
var nasty = []string{" ", "  ", "\t", "\n", "\n\n", "\r", "\r\n", "\f", "\v", "\u0085", "\u00a0", "\u2028", "\u2029", "\ufeff", "\u200b", "\\\n", "\\ \n", "\\\r\n",
	"// x\n", "/* x */", "/* x\n*/", "//\r", "# x\n", "#\r", "#\u2028", "<!-- x\n", "\n--> x\n", "#!x\n", ";", ";\n", "(", ")", ",", "'", "\"", "`", "\"\"\"",
	"    ", "        ", "\n    ", "\n\t", "\n        ", "\n  # x\n", "\n//", "pass", "\n'use strict'\n", "0", "x"}

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
