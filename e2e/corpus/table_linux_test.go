package corpus_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// corpus is every attack, in the order of the document.
func corpus() []attack {
	return slices.Concat(shellAttacks(), linkAttacks(), governanceAttacks(), gitAttacks(), programAttacks(), disguisedAttacks(), processAttacks(), privilegeAttacks(), metadataAttacks(), homeAttacks())
}

// row is what the document says of an attack: the results at full, landlock
// and none, for root and for an ordinary user.
type row map[sandbox.Level][2]string

// table reads the document.
func table(t *testing.T) map[string]row {
	t.Helper()
	text, err := os.ReadFile("README.md")
	check.OK(t, err)
	_, body, begun := strings.Cut(string(text), "<!-- attacks by commands: begin -->")
	body, _, ended := strings.Cut(body, "<!-- attacks by commands: end -->")
	check.Must(t, begun && ended, "README.md has no table of attacks by commands")
	rows := map[string]row{}
	for line := range strings.Lines(body) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 4 || strings.TrimSpace(cells[0]) == "attack" || strings.Contains(cells[0], "---") {
			continue
		}
		r := row{}
		for i, level := range []sandbox.Level{sandbox.Full, sandbox.Landlock, sandbox.None} {
			root, user, differ := strings.Cut(strings.TrimSpace(cells[i+1]), "; user: ")
			if !differ {
				user = root
			}
			r[level] = [2]string{root, user}
		}
		rows[strings.TrimSpace(cells[0])] = r
	}
	return rows
}

// TestTheTableNamesEveryAttackByCommands: the document has each attack,
// no other, and no result that its level must not have.
func TestTheTableNamesEveryAttackByCommands(t *testing.T) {
	rows := table(t)
	for _, a := range corpus() {
		r, there := rows[a.name]
		check.That(t, there, "it does not name %q", a.name)
		delete(rows, a.name)
		for level, results := range r {
			for _, result := range results {
				check.That(t, a.allowed(level, result), "%q is %q at the level %s, which must not be", a.name, result, level)
			}
		}
	}
	for name := range rows {
		t.Errorf("it names an attack that is not tried: %q", name)
	}
}

// TestCommandsUnderAttack makes the attacks at every level, as root and as an ordinary user, and holds the results to
// those in the document. Without ORCHESTRA_LONG half of them are made once at the level full and a quarter once below it,
// and under the race detector a twelfth of these.
func TestCommandsUnderAttack(t *testing.T) {
	underAttack(t, testProgram(t), false, tried)
}

// underAttack makes those attacks that are tried now, by execute_command or in a client's own shell.
func underAttack(t *testing.T, program string, client bool, tried func(i int, level sandbox.Level, user bool) bool) {
	t.Helper()
	rows := table(t)
	got := &results{of: map[string]map[string]string{}}
	t.Cleanup(func() {
		if t.Failed() && check.Long() {
			got.log(t)
		}
	})
	for _, level := range levels(t) {
		for _, user := range []bool{false, true} {
			if !user && os.Getuid() != 0 {
				continue
			}
			t.Run(who(level, user), func(t *testing.T) {
				t.Parallel()
				all := attackedWorld(t, level, user, false, client, program)
				for i, a := range corpus() {
					if !tried(i, level, user) {
						continue
					}
					t.Run(a.name, func(t *testing.T) {
						w := all
						if a.alone || a.bare {
							w = attackedWorld(t, level, user, a.bare, client, program)
						}
						result := w.in(t).try(a)
						got.add(a.name, who(level, user), result)
						want := rows[a.name][level][index(user)]
						if client && level == sandbox.None && slices.Contains(byClients()[a.name], result) {
							want = result
						}
						check.That(t, result == want || a.varies && result == held, "the result is %q, want %q", result, want)
						check.That(t, a.allowed(level, result), "the level must not let it be %q", result)
					})
				}
				check.OK(t, all.server.end())
			})
		}
	}
}

// tried reports whether an attack is made now.
func tried(i int, level sandbox.Level, user bool) bool {
	switch {
	case check.Long():
		return true
	case check.Short() && i%12 != 0:
		return false
	case os.Getuid() != 0: // there is one user only
		return i%2 == 0 && level == sandbox.Full || i%4 == 1 && level == sandbox.Landlock || i%4 == 3 && level == sandbox.None
	case level == sandbox.Full:
		return i%2 == 0 && index(user) == (i/2)%2
	}
	below := index(user)
	if level == sandbox.Landlock {
		below += 2
	}
	return i%4 == 1 && below == (i/4)%4
}

// try makes an attack, holds the ledger to what came of it, and cleans up.
func (w *world) try(a attack) string {
	w.t.Helper()
	result, answers := w.run(a)
	for _, each := range answers {
		w.t.Logf("%.600s", fmt.Sprint(each.Fields))
	}
	gone := result == stopped && w.ledger() == "" // with .git: the link to it leads nowhere
	problems := w.verify()
	check.That(w.t, (len(problems) > 0) == (result == broken || result == lost || gone) || w.client && (result == stopped || w.ledger() == ""), "the result is %s, and verify says %+v", result, problems)
	if a.alone || a.bare {
		err := w.server.end()
		check.That(w.t, err == nil || result == killed, "%v", err)
		return result
	}
	w.restore()
	return result
}

// in has a subtest fail in its own name.
func (w *world) in(t *testing.T) *world {
	w.t, w.server.t = t, t
	return w
}

// shared is a directory from which every user can start programs.
func shared(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "corpus")
	check.OK(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	check.OK(t, os.Chmod(dir, 0o755))
	return dir
}

func who(level sandbox.Level, user bool) string {
	if user {
		return string(level) + " as user"
	}
	return string(level) + " as root"
}

func index(user bool) int {
	if user {
		return 1
	}
	return 0
}

// results are what came of the attacks, for the document.
type results struct {
	mu sync.Mutex
	of map[string]map[string]string
}

func (r *results) add(name, who, result string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[name] == nil {
		r.of[name] = map[string]string{}
	}
	r.of[name][who] = result
}

// log writes the rows as the document would have to have them.
func (r *results) log(t *testing.T) {
	var b strings.Builder
	for _, a := range corpus() {
		b.WriteString("\n| " + a.name)
		for _, level := range []sandbox.Level{sandbox.Full, sandbox.Landlock, sandbox.None} {
			root, user := r.of[a.name][who(level, false)], r.of[a.name][who(level, true)]
			b.WriteString(" | " + root)
			if user != root {
				b.WriteString("; user: " + user)
			}
		}
		b.WriteString(" |")
	}
	t.Logf("what came of them:%s", b.String())
}
