package e2e_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

const rivalsYAML = `active_intents:
  - {id: INT-A, name: Alice's, status: IN_PROGRESS, owned_scope: ["alice/**"]}
  - {id: INT-B, name: Bob's, status: IN_PROGRESS, owned_scope: ["bob/**"]}
`

// attack on another's directory, by one who waits until both commands run.
// OWN is the attacker's directory, OTHER the other one's.
const rivalLine = "touch OWN/ready; for i in $(seq 2000); do [ -e OTHER/ready ] && break; sleep 0.05; done; [ -e OTHER/ready ] || exit 9; " +
	"echo stolen | tee OTHER/page; echo x | tee OTHER/planted; rm -f OTHER/removed; mv OTHER/sub OWN/stolen; ln OTHER/page OWN/link && echo x | tee OWN/link; " +
	"chmod 777 OTHER/page; rm -rf OWN/swapped; ln -s ../OTHER OWN/swapped; echo x | tee OWN/swapped/through; " +
	"for i in $(seq 40); do echo $i | tee OTHER/page OWN/mine; done; echo done | tee OWN/mine"

// TestPrincipalsAttackEachOther: two principals with intents of their own run commands in each other's scope at the
// same time. At the level full each keeps what it has; where nothing holds them, all that changed is in the ledger.
func TestPrincipalsAttackEachOther(t *testing.T) {
	for _, level := range []sandbox.Level{sandbox.Full, sandbox.None} {
		if level == sandbox.Full && sandbox.Probe().Level != level {
			t.Log("there is no level full here")
			continue
		}
		t.Run(string(level), func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.write(".orchestration/active_intents.yaml", rivalsYAML)
			for _, name := range []string{"page", "removed", "sub/file", "mine"} {
				w.write("alice/"+name, "of alice\n")
				w.write("bob/"+name, "of bob\n")
			}
			before := w.tree()
			set := settings.Defaults()
			set.Commands.Unjudged, set.Commands.Stage = settings.Allow, settings.Never // they wait for each other's files
			if level == sandbox.None {
				set.Sandbox = settings.Off
			}
			e := w.embed(func(o *server.Options) { o.Settings = set })
			var both sync.WaitGroup
			for _, one := range []struct{ own, other, intent string }{{"alice", "bob", "INT-A"}, {"bob", "alice", "INT-B"}} {
				a := newAgent(t, w.dialGo(endpoint{e.url, "token of " + one.own}, ""))
				session := a.Selects(one.intent)
				both.Go(func() {
					r := a.Call("execute_command", args{"session": session, "timeout": 60, "command": strings.NewReplacer("OWN", one.own, "OTHER", one.other).Replace(rivalLine)})
					check.That(t, r.Object["exit_code"] == 0.0 && (r.Object["sandbox"] == string(level) || r.Error), "%s: %s", one.own, r.Text)
				})
			}
			both.Wait()
			after := w.tree()
			if level == sandbox.Full {
				w.untouched(before, after)
			} else {
				w.allRecorded(before, after)
			}
			w.verify()
		})
	}
}

// TestGitOfAnotherSession: what one session's git command does while another
// session's command runs is not charged to that one.
func TestGitOfAnotherSession(t *testing.T) {
	t.Parallel()
	w := newWorkspace(t)
	w.write(".orchestration/active_intents.yaml", rivalsYAML)
	w.write("alice/page", "of alice\n")
	w.write("bob/page", "of bob\n")
	set := settings.Defaults()
	set.Commands.Unjudged, set.Sandbox = settings.Allow, settings.Off
	e := w.embed(func(o *server.Options) { o.Settings = set })
	const wait = "for i in $(seq 2000); do [ -e %s ] && break; sleep 0.05; done; [ -e %s ] || exit 9; "
	var both sync.WaitGroup
	for _, one := range []struct{ own, intent, line string }{
		{"alice", "INT-A", strings.ReplaceAll(wait, "%s", "bob/ready") + "git add alice && git -c user.name=A -c user.email=a@example.org commit -qm x && touch alice/committed"},
		{"bob", "INT-B", "touch bob/ready; " + strings.ReplaceAll(wait, "%s", "alice/committed") + "echo seen"},
	} {
		a := newAgent(t, w.dialGo(endpoint{e.url, "token of " + one.own}, ""))
		session := a.Selects(one.intent)
		both.Go(func() {
			r := a.Call("execute_command", args{"session": session, "timeout": 60, "command": one.line})
			check.That(t, !r.Error && r.Object["exit_code"] == 0.0, "%s: %s", one.own, r.Text)
		})
	}
	both.Wait()
	w.wantRecord(`"kind":"command"`, "a git command of another call ran at the time")
	w.verify()
}

// untouched demands that each directory has what its own command made of it.
func (w *workspace) untouched(before, after map[string]string) {
	w.t.Helper()
	want := maps.Clone(before)
	for own, other := range map[string]string{"alice": "bob", "bob": "alice"} {
		want[own+"/mine"], want[own+"/ready"] = "done\n", ""
		want[own+"/swapped"] = "-> ../" + other
		want[own+"/stolen/file"] = before[other+"/sub/file"] // a copy: mv could not remove it
	}
	for path := range want {
		check.Equal(w.t, after[path], want[path], "%s is", path)
	}
	for path, is := range after {
		_, known := want[path]
		check.That(w.t, known, "%s is there: %q", path, is)
	}
}

// allRecorded demands that the ledger names all that changed.
func (w *workspace) allRecorded(before, after map[string]string) {
	w.t.Helper()
	told := strings.Join(w.records(`"kind":"command"`), "\n")
	changed := 0
	for _, states := range []map[string]string{before, after} {
		for path := range states {
			if before[path] != after[path] {
				changed++
				check.That(w.t, strings.Contains(told, `"`+path+`"`), "no record names %s", path)
			}
		}
	}
	check.That(w.t, changed != 0, "nothing was changed")
}

// tree is what is in both directories; of links what they say.
func (w *workspace) tree() map[string]string {
	w.t.Helper()
	found := map[string]string{}
	for _, own := range []string{"alice", "bob"} {
		check.OK(w.t, filepath.WalkDir(w.path(own), func(path string, d fs.DirEntry, err error) error {
			way, _ := filepath.Rel(w.dir, path)
			switch {
			case err != nil:
				return err
			case d.Type()&fs.ModeSymlink != 0:
				target, err := os.Readlink(path)
				found[way] = "-> " + target
				return err
			case d.Type().IsRegular():
				info, err := d.Info()
				found[way] = w.read(way)
				if err == nil && info.Mode().Perm()&0o002 != 0 {
					found[way] += " for everybody"
				}
				return err
			}
			return nil
		}))
	}
	return found
}
