package sandbox_test

import (
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// TestFullTellsOfLinks: it is known of a command whether it gave a file one more name, however it did, and whether it succeeded.
func TestFullTellsOfLinks(t *testing.T) {
	const python = "python3 -c 'import ctypes,os; c=ctypes.CDLL(None,use_errno=True); "
	for _, c := range []struct {
		name, line string
		linked     bool
	}{
		{"nothing", "true", false},
		{"other names", "ln -s a src/l; mv src/a src/b; mkdir src/d; cp src/b src/d/c; rm -r src/d", false},
		{"link", "ln src/a src/b", true},
		{"linkat", "cp -l src/a src/b", true},
		{"a link that is gone", "ln src/a src/b; rm src/b", true},
		{"a link that cannot be", "ln src/a docs/b; true", true},
		{"the call itself", python + `c.link(b"src/a", b"src/b")'`, true},
		{"a file without a name", python + `f=os.open("src", os.O_TMPFILE|os.O_RDWR); c.linkat(-100, b"/proc/self/fd/%d" % f, -100, b"src/b", 0x400)'`, true},
		{"what was left running", "(setsid sh -c 'sleep 0.1; ln src/a src/b; echo linked' &); read line", true},
		{"many at once", "for i in $(seq 20); do ln src/a src/b$i & done; wait", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorkspace(t)
			w.everything()
			check.Write(t, w.root, "src/a", "a\n")
			r := w.begin("echo; exec < /dev/null; " + c.line)
			<-r.held.Ended()
			if c.name == "what was left running" {
				line, err := r.out.ReadString('\n')
				check.That(t, line == "linked\n", "%q %v", line, err)
			}
			r.finish()
			check.Equal(t, r.held.Linked(), c.linked, "linked")
		})
	}
	var none *sandbox.Held
	check.That(t, none.Linked(), "of a command at no level it is known that it did not")
}

// TestFullLinksAtOnce: a command that gives a file one more name before anything else is started like any other.
func TestFullLinksAtOnce(t *testing.T) {
	w := newWorkspace(t)
	w.everything()
	check.Write(t, w.root, "src/a", "a\n")
	for range 20 {
		r := w.begin("ln src/a src/b; rm src/b; echo")
		r.finish()
		check.That(t, r.held.Linked(), "it is not told")
	}
}
