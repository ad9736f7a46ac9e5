//go:build frozen

package frozen_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var (
	oldProgram = flag.String("old", "", "the program that is right by definition")
	newProgram = flag.String("new", "", "the program that must do the same")
	printing   = flag.String("transcripts", "", "a directory for the transcripts, as they are compared")
)

// groups are the subtests, by what they look at.
var groups = []string{"tools", "refusals", "calls", "commands", "ledger", "old", "settings", "approvals", "gate"}

func TestFrozen(t *testing.T) {
	base := t.TempDir()
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	programs := map[string]program{"old": install(t, *oldProgram, base, "old"), "new": install(t, *newProgram, base, "new")}
	meant := meantDifferences(t)
	for _, group := range groups {
		t.Run(group, func(t *testing.T) {
			for i, s := range written(group) {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					texts := map[string]string{}
					var mu sync.Mutex
					var both sync.WaitGroup
					for _, who := range []string{"old", "new"} {
						both.Go(func() {
							w := newWorld(t, filepath.Join(base, who, fmt.Sprintf("%s-%d", group, i)), programs["old"].dir, programs[who].dir)
							text := w.normal(w.play(s), programs[who].version)
							mu.Lock()
							defer mu.Unlock()
							texts[who] = text
						})
					}
					both.Wait()
					name := group + "/" + s.name
					record(t, name, texts)
					compare(t, meant, name, texts["old"], texts["new"])
				})
			}
		})
	}
}

// record leaves the transcripts for people to read.
func record(t *testing.T, name string, texts map[string]string) {
	if *printing == "" {
		return
	}
	for who, text := range texts {
		path := filepath.Join(*printing, who, name+".txt")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// program is one of the two that are compared.
type program struct{ dir, version string }

// install puts a program where its path has as many characters as that of the other.
func install(t *testing.T, path, base, who string) program {
	t.Helper()
	if path == "" {
		t.Fatal("name the two programs: go test -tags frozen ./e2e/frozen -old PROGRAM -new PROGRAM")
	}
	dir := filepath.Join(base, "bin-"+who)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "orchestra-mcp"), content, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(dir, "orchestra-mcp"), "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	return program{dir, strings.Fields(string(out))[1]}
}
