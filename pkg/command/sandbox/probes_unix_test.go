//go:build unix

package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/probes"
)

// TestProbesAreNoticed does without a sandbox, one by one, what a sandbox has to prevent, and each time it must be found. Then the
// table can fail.
func TestProbesAreNoticed(t *testing.T) {
	for _, name := range forbidden(t) {
		err := sandbox.TryWorld(false, []string{name}, unheld)
		check.That(t, err != nil && strings.Contains(err.Error(), "a command could "+name), "%s: it is not noticed: %v", name, err)
	}
}

// TestProbesDoNotTrustTheirReport: what changed is found from outside where the program inside says that nothing could be done.
func TestProbesDoNotTrustTheirReport(t *testing.T) {
	world := check.Value(probes.Make(check.Value(os.MkdirTemp(t.TempDir(), ""))(t)))(t)
	for _, c := range []struct {
		does, want string
		do         func() error
	}{
		{"nothing", "", func() error { return nil }},
		{"a file outside", "from outside", func() error { return os.WriteFile(world.Out+"/new", nil, 0o600) }},
		{"a mode", "from outside", func() error { return os.Chmod(world.In(".git/config"), 0o644) }},
		{"what must not be", "from outside", func() error { return os.Mkdir(world.In(".tasks"), 0o700) }},
		{"a kill", "a process outside was killed", func() error { return check.Value(os.FindProcess(world.Victim))(t).Kill() }},
	} {
		err := world.Judge(check.Value(os.Executable())(t), func([]string) ([]byte, error) {
			return []byte(report(&world, true)), c.do()
		})
		check.That(t, (err == nil) == (c.want == "") && (err == nil || strings.Contains(err.Error(), c.want)), "%s: %v", c.does, err)
	}
}

// TestProbesMissNothing: a probe that had to work and did not is noticed, and one that was not tried.
func TestProbesMissNothing(t *testing.T) {
	world := check.Value(probes.Make(check.Value(os.MkdirTemp(t.TempDir(), ""))(t)))(t)
	for _, said := range []string{"", report(&world, false)} {
		err := world.Judge(check.Value(os.Executable())(t), func([]string) ([]byte, error) { return []byte(said), nil })
		for _, p := range probes.Table(&world) {
			want := "it was not tried to " + p.Name + "\n"
			if said != "" {
				want = map[bool]string{true: "a command could not ", false: "a command could "}[p.Must] + p.Name
			}
			check.That(t, strings.Contains(err.Error()+"\n", want), "%q is missing in %v", want, err)
		}
	}
}

// report is what a program says to whom all goes well, or nothing.
func report(w *probes.World, well bool) string {
	var b strings.Builder
	for _, p := range probes.Table(w) {
		said := ""
		if p.Must != well {
			said = "no"
		}
		fmt.Fprintf(&b, "%s\t%q\n", p.Name, said)
	}
	return b.String()
}

// forbidden are the names of the probes that must not go through.
func forbidden(t *testing.T) (names []string) {
	world := check.Value(probes.Make(check.Value(os.MkdirTemp(t.TempDir(), ""))(t)))(t)
	for _, p := range probes.Table(&world) {
		if !p.Must {
			names = append(names, p.Name)
		}
	}
	check.Must(t, len(names) > 50, "only %d probes", len(names))
	return names
}

func unheld(_ *sandbox.Profile, cmd *exec.Cmd) (*sandbox.Held, error) { return nil, cmd.Start() }
