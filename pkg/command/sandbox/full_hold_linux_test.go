package sandbox_test

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// Lines of the shell, some of them with a name, in chapters.
//
//go:embed testdata/tries.txt
var allTries string

func tries(t *testing.T, chapter string) map[string]string {
	t.Helper()
	lines := map[string]string{}
	_, text, _ := strings.Cut(allTries, "# "+chapter+"\n")
	text, _, _ = strings.Cut(text, "# ")
	for row := range strings.Lines(text) {
		row = strings.TrimSuffix(row, "\n")
		name, line, named := strings.Cut(row, "\t")
		if !named {
			line = row
		}
		lines[name] = strings.ReplaceAll(line, `\n`, "\n")
	}
	check.Must(t, len(lines) >= 10, "only %d lines: %s", len(lines), chapter)
	return lines
}

// TestFullHolds tries to change what is not in scope, and looks at all of it
// afterwards. Every line must fail, so that none passes for want of a program.
func TestFullHolds(t *testing.T) {
	for name, line := range tries(t, "outside") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.inScope("src")
			before := surroundings(t, w.path("src"), w.root, w.outside)
			_, code := w.run(line)
			check.That(t, code != 0, "it succeeded")
			check.Equal(t, surroundings(t, w.path("src"), w.root, w.outside), before)
		})
	}
}

// governed are the paths that no command may change although it may write
// everything around them, and what each is before.
func governed(w *workspace) string {
	return surroundings(w.t, "", w.path(".git/config"), w.path(".git/hooks"), w.path(".orchestration"), w.path("docs/out.md"), w.outside)
}

// TestFullHoldsInsideWhatIsWritable is the workspace with the scope **.
func TestFullHoldsInsideWhatIsWritable(t *testing.T) {
	for name, line := range tries(t, "inside") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.everything()
			before := governed(w)
			_, code := w.run(line)
			check.That(t, code != 0, "it succeeded")
			check.Equal(t, governed(w), before)
			for _, f := range w.profile.Frozen {
				if _, err := os.Lstat(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				} else if err == nil && !strings.Contains(before, f.Path) {
					t.Errorf("%s was not there before", f.Path)
				}
			}
		})
	}
}

func TestFullLetsThroughWhatIsWritable(t *testing.T) {
	w := newWorkspace(t)
	w.everything()
	w.profile.Hidden = []string{w.path("secret.env")}
	for _, line := range []string{
		`echo x > src/a.go && mkdir -p new/dir && echo y > new/dir/f && mv new newer && ln newer/dir/f l && chmod 600 l`,
		`echo $$ > docs/in.md && rm docs/in.md && touch -d 2001-01-01 src/a.go`,
		`echo x > /tmp/a && cat "$TMPDIR/a" && echo y > /dev/shm/a && echo z > /dev/null && test -r /dev/stdin`,
		`bash -c 'cat <(echo a)' > /dev/null`,
		`echo out > /dev/stdout; echo err > /dev/stderr; exec 3<> /dev/ptmx`,
		`cat docs/out.md .git/config .orchestration/active_intents.yaml > all && test -s all`,
		`git --version > /dev/null; ps > /dev/null; cat /proc/self/stat > /dev/null; ls .git > /dev/null`,
	} {
		out, code := w.run(line)
		check.That(t, code == 0, "%s: %d %s", line, code, out)
	}
	if content, err := os.ReadFile(w.path("newer/dir/f")); err != nil || string(content) != "y\n" {
		t.Errorf("%q %v", content, err)
	}
	info, err := os.Stat(w.path("l"))
	check.That(t, err == nil && info.Mode().Perm() == 0o600, "%v %v", info, err)
}

// TestFullHides tries to read what is hidden.
func TestFullHides(t *testing.T) {
	for name, line := range tries(t, "hidden") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkspace(t)
			w.everything()
			w.profile.Hidden = []string{w.path("secret.env"), w.path("src/keys")}
			hidden := func() string { return surroundings(t, "", w.path("secret.env"), w.path("src/keys")) }
			before := hidden()
			out, code := w.run(line)
			check.That(t, code != 0 && (!strings.Contains(out, "secret.env\n") || strings.Contains(out, ":")), "%d %s", code, out)
			check.Equal(t, hidden(), before)
		})
	}
}

// TestFullGivesNothingOfTheHostsTemp: files of other programs there are not seen, and cannot be written.
func TestFullGivesNothingOfTheHostsTemp(t *testing.T) {
	theirs := check.Value(os.CreateTemp("/tmp", "orchestra-test-"))(t)
	theirs.Close()
	defer os.Remove(theirs.Name())
	w := newWorkspace(t)
	w.inScope("src")
	out, code := w.run(`ls ` + theirs.Name())
	check.That(t, code != 0, "%v", out)
	w.run(`echo x > ` + theirs.Name())
	info, err := os.Stat(theirs.Name())
	check.That(t, err == nil && info.Size() == 0, "%v %v", info, err)
}

// TestFullRefusesSystemCalls makes each with bare hands.
func TestFullRefusesSystemCalls(t *testing.T) {
	const refused, missing = "operation not permitted", "function not implemented"
	cases := map[string]string{
		"ptrace": refused, "traceme": refused, "vm-read": refused, "vm-write": refused, "pidfd-getfd": refused,
		"io-uring": missing, "bpf": refused, "keyctl": refused, "add-key": refused, "userfaultfd": refused, "perf": refused,
		"handle": refused, "unshare-user": refused, "unshare-mounts": refused, "setns": refused, "clone-user": refused,
		"clone3": missing, "mount-setattr": refused, "open-tree": refused, "fsopen": refused, "remount": refused,
		"umount": refused, "pivot": refused, "kexec": refused, "module": refused, "tiocsti": refused,
		"tiocsti-high": refused, "tioclinux": refused, "vsock": refused, "uevents": refused, "packets": refused,
		"crypto": refused, "x32": "", "i386": "", "setxattr docs/out.md": "read-only file system",
	}
	w := newWorkspace(t)
	w.inScope("src")
	before := surroundings(t, w.path("src"), w.root, w.outside)
	for attack, want := range cases {
		out, code := w.run("attack " + attack)
		check.That(t, code != 0 && strings.Contains(out, want), "%s: %d %s", attack, code, out)
	}
	check.Equal(t, surroundings(t, w.path("src"), w.root, w.outside), before)
}

func TestFullDeniesTheNetwork(t *testing.T) {
	listener := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	w := newWorkspace(t)
	w.inScope("src")
	out, code := w.run(fmt.Sprint("attack tcp ", port))
	check.That(t, code == 0, "with the network: %d %s", code, out)
	w.profile.DenyNetwork = true
	for _, attack := range []string{
		fmt.Sprint("tcp ", port), "unix-datagrams", "datagram-pair", "raw-pair", "vsock", "uevents",
	} {
		if out, code := w.run("attack " + attack); code == 0 || strings.Contains(out, "there is no attack") {
			t.Errorf("%s: %d %s", attack, code, out)
		}
	}
	for _, allowed := range []string{"attack stream-pair", "attack unix", "attack tcp-inside"} {
		out, code := w.run(allowed)
		check.That(t, code == 0, "%s: %d %s", allowed, code, out)
	}
}

// TestFullDeniesUDP: a datagram is sent without an answer, so what counts is whether it arrives.
func TestFullDeniesUDP(t *testing.T) {
	listener := check.Value(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	defer listener.Close()
	port := listener.LocalAddr().(*net.UDPAddr).Port
	w := newWorkspace(t)
	w.inScope("src")
	w.profile.DenyNetwork = true
	w.run(fmt.Sprint("attack udp ", port))
	w.profile.DenyNetwork = false
	out, code := w.run(fmt.Sprintf("sleep 0; attack udp %d", port))
	check.That(t, code == 0, "with the network: %d %s", code, out)
	// Had the first arrived, there were two.
	packet := make([]byte, 16)
	n, _, err := listener.ReadFrom(packet)
	check.That(t, err == nil && n == 1, "%d %v", n, err)
	w.run("true")
	check.Equal(t, pending(t, listener), 0)
}

// TestFullKeepsFromOthersSockets: what listens outside cannot be told to act.
func TestFullKeepsFromOthersSockets(t *testing.T) {
	w := newWorkspace(t)
	w.inScope("src")
	named := map[string]string{
		"outside":      filepath.Join(w.outside, "socket"),
		"in scope":     w.path("src/socket"),
		"out of scope": w.path("docs/socket"),
		"abstract":     "@orchestra-test-" + filepath.Base(w.outside) + fmt.Sprint(port(t)),
	}
	for name, address := range named {
		check.Must(t, len(address) <= 100, "the path is too long for a socket: %s", address)
		listener, err := net.Listen("unix", address)
		if err != nil {
			t.Fatal(name, err)
		}
		defer listener.Close()
		out, code := w.run("attack connect " + address)
		check.That(t, code != 0, "%s: %d %s", name, code, out)
	}
	out, code := held(t, sandbox.None, w.profile, "attack connect "+named["outside"])
	check.That(t, code == 0, "without a profile: %d %s", code, out)
}

// port is a number that no other test has at this moment.
func port(t *testing.T) int {
	t.Helper()
	listener := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().(*net.TCPAddr).Port
}

// pending is how many bytes wait to be read.
func pending(t *testing.T, listener net.PacketConn) (waiting int) {
	t.Helper()
	raw, err := listener.(*net.UDPConn).SyscallConn()
	check.OK(t, err)
	raw.Control(func(fd uintptr) { waiting, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	check.OK(t, err)
	return waiting
}
