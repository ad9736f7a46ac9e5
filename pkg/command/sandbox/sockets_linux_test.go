package sandbox_test

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// The programs on both sides of a profile: one has a listener for each way to give
// a socket a name, the other tries each way to name it.
var (
	//go:embed testdata/sockets_outside.py
	socketsOutside string
	//go:embed testdata/sockets_inside.py
	socketsInside string
	//go:embed testdata/sockets_own.py
	socketsOwn string
)

// TestFullReachesNoListenerOutside: whatever its name is, where it was bound, and how a command names it.
func TestFullReachesNoListenerOutside(t *testing.T) {
	for _, denied := range []bool{false, true} {
		t.Run(fmt.Sprint(denied), func(t *testing.T) {
			w := newWorkspace(t)
			w.inScope("src")
			w.profile.DenyNetwork = denied
			if hits, attempts := reachOutside(t, w, sandbox.Full); len(hits) > 0 || attempts < 1000 {
				t.Errorf("%d of %d:\n%s", len(hits), attempts, strings.Join(hits, "\n"))
			}
		})
	}
}

// TestFullConnectsItsOwn: what programs do with sockets among themselves works as it does outside.
func TestFullConnectsItsOwn(t *testing.T) {
	for denied, parts := range map[bool]string{false: "own internet libraries", true: "own internet"} {
		w := newWorkspace(t)
		w.inScope("src")
		w.profile.DenyNetwork = denied
		check.OK(t, os.WriteFile(w.path("src/own.py"), []byte(socketsOwn), 0o644))
		out, code := w.run("cd src && python3 own.py " + parts)
		check.That(t, code == 0 && out == "worked\n", "network denied %v: %d %s", denied, code, out)
	}
}

// TestFullKeepsBoxesApart: another command is outside, too.
func TestFullKeepsBoxesApart(t *testing.T) {
	w := newWorkspace(t)
	w.inScope("src")
	const listen = "import socket\ns = socket.socket(socket.AF_UNIX); s.bind('src/other'); s.listen(); print('ready', flush=True); s.accept(); print('REACHED')"
	other := w.begin("exec python3 -c \"" + listen + "\"")
	out, code := w.run("attack connect src/other")
	other.finish()
	check.That(t, code == 1 && out == "permission denied\n", "%d %s", code, out)
}

// TestFullWithoutSupervisor: where nobody can connect sockets for a command, it has none but connected pairs.
func TestFullWithoutSupervisor(t *testing.T) {
	w := newWorkspace(t)
	for line, passes := range map[string]bool{
		"unix": false, "unix-high": false, "unix-datagrams": false, "datagram-pair": false, "stream-pair": true, "tcp-inside": true,
	} {
		cmd := exec.Command("attack", line)
		cmd.Dir = w.root
		out, code := ended(t, cmd, func() (*sandbox.Held, error) { return sandbox.StartFullWith(cmd, w.profile, false) })
		check.Equal(t, code == 0, passes, "%v %v %v", line, code, out)
	}
}

// reachOutside runs both programs, and returns what reached the one outside.
func reachOutside(t *testing.T, w *workspace, level sandbox.Level) (hits []string, attempts int) {
	t.Helper()
	files(t, w.root, "src/s/keep", "docs/s/keep")
	ask, told := w.path("src/s/ask"), w.path("src/s/told")
	for _, path := range []string{ask, told} {
		check.OK(t, unix.Mkfifo(path, 0o600))
	}
	outside := exec.Command("python3", "-c", socketsOutside, w.path("docs/s"), w.path("src/s"), w.profile.Temp, ask, told)
	outside.Stderr = os.Stderr
	in := check.Value(outside.StdinPipe())(t)
	read := check.Value(outside.StdoutPipe())(t)
	check.OK(t, outside.Start())
	defer outside.Wait()
	defer in.Close()
	out := bufio.NewReader(read)
	if line, err := out.ReadString('\n'); err != nil {
		t.Fatalf("%q %v", line, err)
	}
	program := filepath.Join(w.root, "src", "inside.py")
	check.OK(t, os.WriteFile(program, []byte(socketsInside), 0o644))
	output, _ := held(t, level, w.profile, fmt.Sprintf("python3 %s %s %s %s", program, w.path("src/s"), ask, told))
	in.Close()
	all := check.Value(io.ReadAll(out))(t)
	if err := json.Unmarshal(all, &hits); err != nil {
		t.Fatalf("%v in %q", err, all)
	}
	last := strings.LastIndex(output, "attempts ")
	check.Must(t, last >= 0, "the attack did not end: %s", output)
	fmt.Sscanf(output[last:], "attempts %d", &attempts)
	reached := strings.Count(output, "REACHED")
	check.That(t, reached <= len(hits), "inside %d answers came:\n%s", reached, output)
	return hits, attempts
}
