//go:build frozen

// Package frozen_test plays the same scripts with two programs, an old one and a new one, and shows where what came out
// is different: tools/list, every refusal, every command's output and exit code, the bytes of the ledger, what an older
// program has left, settings, approvals, gate reports. It is for a change of the inside that must not be seen outside.
//
// What is right is what the old program does: there is nothing else to compare with. It needs Linux, git and zstd. To
// hold the work tree to the first commit of issue 16:
//
//	git worktree add /tmp/old-tree 747901b9b950
//	(cd /tmp/old-tree && go build -trimpath -buildvcs=false -o /tmp/old ./cmd/orchestra-mcp)
//	go build -trimpath -buildvcs=false -o /tmp/new ./cmd/orchestra-mcp
//	go test -count=1 -tags frozen ./e2e/frozen -old /tmp/old -new /tmp/new [-run TestFrozen/tools] [-transcripts DIR]
//
// A difference that is meant stands in differences.txt with its reason. The scripts are in testdata, a file a group, a
// world of its own for each case; script_test.go says what a step can be, normal_test.go what counts as no difference.
// Two plays of one program show none: -old P -new P proves that of a machine.
//
// Left out are what a terminal is asked (questions, the screen of approvals watch), what is sent over HTTP, and the
// verdicts of classify. CANCELLED and INTERNAL_ERROR cannot be provoked from outside.
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
	written    = flag.String("transcripts", "", "a directory for the transcripts, as they are compared")
)

// groups are the subtests, by what they look at.
func groups() []string {
	return []string{"tools", "refusals", "calls", "commands", "ledger", "old", "settings", "approvals", "gate"}
}

func TestFrozen(t *testing.T) {
	p := install(t)
	meant := meantDifferences(t)
	for _, group := range groups() {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			for i, s := range scripts(t, group) {
				t.Run(s.name, func(t *testing.T) {
					t.Parallel()
					name := group + "/" + s.name
					texts := p.play(t, s, fmt.Sprintf("%s-%d", group, i))
					keep(t, name, texts)
					compare(t, meant, name, texts["old"], texts["new"])
				})
			}
		})
	}
}

// programs are the two that are compared.
type programs struct {
	base     string            // the directory of all plays
	dirs     map[string]string // of each program: old, new
	versions []string
}

// install puts the programs where their paths have as many characters.
func install(t *testing.T) programs {
	t.Helper()
	p := programs{base: t.TempDir(), dirs: map[string]string{}}
	if err := os.Chmod(p.base, 0o755); err != nil {
		t.Fatal(err)
	}
	for who, path := range map[string]string{"old": *oldProgram, "new": *newProgram} {
		if path == "" {
			t.Fatal("name the two programs: go test -tags frozen ./e2e/frozen -old PROGRAM -new PROGRAM")
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		p.dirs[who] = filepath.Join(p.base, "bin-"+who)
		program := filepath.Join(p.dirs[who], "orchestra-mcp")
		if err := os.MkdirAll(p.dirs[who], 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(program, content, 0o755); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(program, "version").Output()
		if err != nil {
			t.Fatal(err)
		}
		p.versions = append(p.versions, strings.Fields(string(out))[1])
	}
	return p
}

// play plays a case with both programs at once, so that neither finds a busier machine, and returns the transcripts.
func (p programs) play(t *testing.T, s script, dir string) map[string]string {
	t.Helper()
	var (
		texts = map[string]string{}
		mu    sync.Mutex
		both  sync.WaitGroup
	)
	for who, tested := range p.dirs {
		both.Go(func() {
			w := newWorld(t, filepath.Join(p.base, who, dir), p.dirs["old"], tested)
			text := w.normal(w.play(s), p.versions)
			mu.Lock()
			defer mu.Unlock()
			texts[who] = text
		})
	}
	both.Wait()
	return texts
}

// keep leaves the transcripts for people to read.
func keep(t *testing.T, name string, texts map[string]string) {
	t.Helper()
	if *written == "" {
		return
	}
	for who, text := range texts {
		path := filepath.Join(*written, who, name+".txt")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
