package e2e_test

import (
	"fmt"
	"os"
	"testing"

	files "github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// mapper stores as much as gives the file another time of change, and when it is told to, what does not.
const mapper = `import mmap, sys
f = open(sys.argv[1], "r+b")
m = mmap.mmap(f.fileno(), 0)
f.close()
m[0:1] = m[0:1]
open("src/ready", "w").close()
open("src/go").close()
m[0:4] = b"more"
open("src/done", "w").close()
open("src/end").close()
`

// A command in the background writes through a mapping before and after commands of another session, of its server and of
// another: its record has what stands there at its end, what is out of scope is a violation, and the others have none of it.
func TestMappedBesideOtherCommands(t *testing.T) {
	for _, m := range machines(t) {
		for _, servers := range []int{1, 2} {
			file, content := "src/a.txt", "one\ntwo\nthree\n"
			if m.level == "none" {
				file, content = "other/keep.md", "one\n"
			}
			t.Run(fmt.Sprintf("%s/%d", m.name, servers), func(t *testing.T) {
				t.Parallel()
				mappedBeside(t, m, servers, file, content)
			})
		}
	}
}

func mappedBeside(t *testing.T, m machine, servers int, file, content string) {
	w := newWorkspace(t)
	w.remove(".git")
	w.write(file, content)
	w.flushed(file) // else the kernel may write it back for the sake of the ledger's records
	w.write("src/mapper.py", mapper)
	for _, name := range []string{"ready", "go", "done", "end"} {
		if err := mkfifo(w.path("src/" + name)); err != nil {
			t.Fatal(err)
		}
	}
	p := w.startedOn(m, unjudged)
	q := p
	if servers == 2 {
		q = w.startedOn(m, unjudged)
	}
	a, b := p.agent(), q.agent()
	first, second := a.selects("INT-001"), b.selects("INT-002")
	id, _ := a.behind(first, "python3 src/mapper.py "+file)
	w.meets("src/ready", os.O_RDONLY)
	for range 3 { // the last of the looks is long after the first store
		if got := changed(b.ok("execute_command", args{"session": second, "command": "true"}).Fields); len(got) > 0 {
			t.Errorf("a command that changes nothing is charged with %q", got)
		}
	}
	w.meets("src/go", os.O_WRONLY)
	w.meets("src/done", os.O_RDONLY)
	if got := changed(b.ok("execute_command", args{"session": second, "command": "echo x >> docs/other.md"}).Fields); len(got) != 1 || got[0] != "docs/other.md" {
		t.Errorf("another command is charged with %q", got)
	}
	w.meets("src/end", os.O_WRONLY)
	a.endedJob(first, id)
	after := "more" + content[4:]
	w.want(file, after)
	w.wantRecord(`"kind":"command"`, `"path":"`+file+`"`, `"before":"`+string(files.HashOf([]byte(content)))+`"`, `"after":"`+string(files.HashOf([]byte(after)))+`"`)
	if m.level == "none" {
		w.wantRecord(`"kind":"command"`, `"violations":[`, `"path":"`+file+`"`)
	}
	b.call("execute_command", args{"session": b.selects("INT-001"), "command": "echo last | tee -a " + file})
	w.wantRecord(`"kind":"command"`, `"path":"`+file+`"`, `"before":"`+string(files.HashOf([]byte(after)))+`"`)
}

// flushed has the kernel write a file back.
func (w *workspace) flushed(name string) {
	w.t.Helper()
	f, err := os.Open(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		w.t.Fatal(err)
	}
}

// meets waits at a FIFO for its other end.
func (w *workspace) meets(name string, flag int) {
	w.t.Helper()
	f, err := os.OpenFile(w.path(name), flag, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	f.Close()
}
