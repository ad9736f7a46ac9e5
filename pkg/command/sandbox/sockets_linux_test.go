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

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// The programs on both sides of a box: one has a listener for each way to give
// a socket a name, the other tries each way to name it.
var (
	//go:embed testdata/sockets_outside.py
	socketsOutside string
	//go:embed testdata/sockets_inside.py
	socketsInside string
)

// TestFullReachesNoListenerOutside: whatever its name is, where it was bound, and
// how a command names it.
func TestFullReachesNoListenerOutside(t *testing.T) {
	for _, denied := range []bool{false, true} {
		t.Run(fmt.Sprint("network denied ", denied), func(t *testing.T) {
			w := newWorkspace(t)
			w.inScope("src")
			w.box.DenyNetwork = denied
			if hits, attempts := reachOutside(t, w, sandbox.Full); len(hits) > 0 || attempts < 1000 {
				t.Errorf("%d of %d:\n%s", len(hits), attempts, strings.Join(hits, "\n"))
			}
		})
	}
}

// reachOutside runs both programs, and returns what reached the one outside.
func reachOutside(t *testing.T, w *workspace, level sandbox.Level) (hits []string, attempts int) {
	t.Helper()
	files(t, w.root, "src/s/keep", "docs/s/keep")
	ask, told := w.path("src/s/ask"), w.path("src/s/told")
	for _, path := range []string{ask, told} {
		if err := unix.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	outside := exec.Command("python3", "-c", socketsOutside, w.path("docs/s"), w.path("src/s"), w.box.Temp, ask, told)
	outside.Stderr = os.Stderr
	in, err := outside.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	read, err := outside.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := outside.Start(); err != nil {
		t.Fatal(err)
	}
	defer outside.Wait()
	defer in.Close()
	out := bufio.NewReader(read)
	if line, err := out.ReadString('\n'); err != nil {
		t.Fatalf("%q %v", line, err)
	}
	program := filepath.Join(w.root, "src", "inside.py")
	if err := os.WriteFile(program, []byte(socketsInside), 0o644); err != nil {
		t.Fatal(err)
	}
	output, _ := held(t, level, w.box, fmt.Sprintf("python3 %s %s %s %s", program, w.path("src/s"), ask, told))
	in.Close()
	all, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(all, &hits); err != nil {
		t.Fatalf("%v in %q", err, all)
	}
	last := strings.LastIndex(output, "attempts ")
	if last < 0 {
		t.Fatalf("the attack did not end: %s", output)
	}
	fmt.Sscanf(output[last:], "attempts %d", &attempts)
	if reached := strings.Count(output, "REACHED"); reached > len(hits) {
		t.Errorf("inside %d answers came:\n%s", reached, output)
	}
	return hits, attempts
}
