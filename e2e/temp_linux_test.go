package e2e_test

import (
	"os"
	"path/filepath"
	"testing"
)

// temps are the private directories of commands that there are.
func (w *workspace) temps() []string {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.home, "orchestra-run-*"))
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// The private temporary directory of a command goes with it, also where the
// command closed it; that of a killed server goes with the first command of
// whatever server comes next, and no other does.
func TestPrivateTempsOfKilledServer(t *testing.T) {
	for _, m := range machines(t) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			p, neighbour := w.startedOn(m, unjudged), w.startedOn(m, unjudged)
			session := p.agent().selects("INT-001")
			p.agent().ok("execute_command", args{"session": session, "command": "mkdir -p $TMPDIR/a/b && echo x > $TMPDIR/a/b/c && chmod 0 $TMPDIR/a/b $TMPDIR/a $TMPDIR"})
			if left := w.temps(); len(left) > 0 {
				t.Errorf("after the command: %q", left)
			}
			const hold = "mkdir $TMPDIR/deep && echo x > $TMPDIR/deep/file && chmod 0 $TMPDIR/deep && touch src/held-$N; sleep 300"
			a := neighbour.agent()
			kept, _ := a.behind(a.selects("INT-005"), "N=kept; "+hold)
			w.appears("src/held-kept")
			before := w.temps()
			p.send(callLine("held", "execute_command", args{"session": session, "command": "N=killed; " + hold}))
			w.appears("src/held-killed")
			p.kill()
			// Nobody's: a file and a link of such a name, and a directory that is named otherwise.
			for _, name := range []string{"orchestra-run-1", "orchestra-run-x", "orchestra-run-"} {
				if err := os.WriteFile(filepath.Join(w.home, name), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			others := filepath.Join(w.home, "orchestra-run-mine")
			if err := os.Mkdir(others, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(w.path("src"), filepath.Join(w.home, "orchestra-run-2")); err != nil {
				t.Fatal(err)
			}
			if now := w.temps(); len(now) != len(before)+1+5 {
				t.Fatalf("the test shows nothing: %q", now)
			}
			next := w.startedOn(m, unjudged).agent()
			next.ok("execute_command", args{"session": session, "command": "true"})
			eventually(t, "the directory of the killed server is gone, and only that", func() bool { return len(w.temps()) == len(before)+5 })
			if _, err := os.Stat(before[0]); err != nil {
				t.Errorf("the directory of a server that lives is gone: %v", err)
			}
			w.want("src/a.txt", "one\ntwo\nthree\n")
			if r := a.ok("stop_command", args{"session": a.selects("INT-005"), "command_id": kept}); r.Fields["running"] != false {
				t.Errorf("%v", r.Fields)
			}
			if now := w.temps(); len(now) != 5 {
				t.Errorf("at the end: %q", now)
			}
		})
	}
}
