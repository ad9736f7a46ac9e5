//go:build unix

package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// long is a text that git does not have and that takes a while to be kept.
func long(line string) string {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "%s %d %x\n", line, i, i*2654435761)
	}
	return b.String()
}

func (w *workspace) wantMode(name string, mode os.FileMode) {
	w.t.Helper()
	info := check.Value(os.Stat(w.path(name)))(w.t)
	check.Equal(w.t, info.Mode(), mode, "%s has the mode", name)
}

// Killed as soon as its answer is there, the program has kept what an undo needs: contents that git does not have, and modes.
func TestUndoAfterKill(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool string
		with args
	}{
		"write_to_file": {"write_to_file", args{"path": "src/run.sh", "content": long("after")}},
		"apply_diff":    {"apply_diff", args{"path": "src/run.sh", "diff": "<<<<<<< SEARCH\nbefore 0 0\n=======\nafter\n>>>>>>> REPLACE"}},
		"apply_patch":   {"apply_patch", args{"patch": "*** Begin Patch\n*** Delete File: src/run.sh\n*** Add File: src/new.sh\n+new\n*** End Patch"}},
		"a command that changes": {"execute_command", args{
			"command": "tr b B < src/run.sh > src/new.sh; cat src/new.sh > src/run.sh; chmod 640 src/run.sh; echo new > src/new.sh; chmod 755 src/new.sh",
		}},
		"a command that deletes": {"execute_command", args{"command": "rm src/run.sh"}},
		"a command that moves":   {"execute_command", args{"command": "mv src/run.sh src/moved.sh; echo x >> src/moved.sh"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			before := long("before")
			w.write("src/run.sh", before)
			check.OK(t, os.Chmod(w.path("src/run.sh"), 0o750))
			p := w.initialized("ORCHESTRA_WRITE_BLIND=allow")
			a := p.agent()
			a.selects("INT-001")
			id := a.ok(c.tool, c.with).str("record_id")
			p.kill()
			w.commands("undo", id, "--yes")
			w.want("src/run.sh", before)
			w.wantMode("src/run.sh", 0o750)
			for _, made := range []string{"src/new.sh", "src/moved.sh"} {
				_, err := os.Lstat(w.path(made))
				check.That(t, err != nil, "%s is still there", made)
			}
		})
	}
}
