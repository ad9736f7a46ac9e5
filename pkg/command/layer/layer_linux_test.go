package layer_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/layer"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// inLayer runs a shell line over a directory with a layer, and gives the view.
func inLayer(t *testing.T, dir, line string) layer.View {
	t.Helper()
	ability := sandbox.Probe()
	check.Must(t, ability.Level == sandbox.Full, "no level full here: %v", ability.NoFull)
	top := t.TempDir()
	over := sandbox.Layer{Path: dir, Upper: filepath.Join(top, "a,b:c"), Work: filepath.Join(top, "work")}
	for _, at := range []string{over.Upper, over.Work, filepath.Join(top, "temp")} {
		check.OK(t, os.Mkdir(at, 0o755))
	}
	var out bytes.Buffer
	done := make(chan error)
	sandbox.Go(func() {
		cmd := exec.Command("/bin/sh", "-ec", line)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		held, err := sandbox.Start(cmd, sandbox.Full, &sandbox.Profile{
			Workspace: dir, Writable: []string{dir}, Layers: []sandbox.Layer{over}, Temp: filepath.Join(top, "temp"), DenyNetwork: true,
		})
		if err == nil {
			cmd.Wait()
			if status, ok := held.Status(); !ok || status.ExitStatus() != 0 {
				err = fmt.Errorf("%v: %s", status, out.String())
			}
			held.Close()
		}
		done <- err
	})
	check.OK(t, <-done)
	return layer.View{Lower: dir, Upper: over.Upper}
}

func put(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		check.Write(t, dir, name, name)
	}
}

func TestTouched(t *testing.T) {
	dir := check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	put(t, dir, "stays", "changed", "removed", "whole/a", "whole/b/c", "again/old", "again/kept/x", "becomes/in", "file", "touched")
	v := inLayer(t, dir, `echo x > changed; rm removed; rm -r whole; rm -r again; mkdir again; echo y > again/new; mkdir again/kept; rm -r becomes; echo z > becomes
		rm file; mkdir file; echo w > file/in; ln -s stays link; mkdir -p fresh/deep; echo v > fresh/deep/f; cp touched t; mv t touched`)
	all := check.Value(v.Touched())(t)
	var got []string
	for _, at := range all {
		kind := func(n layer.Node) string {
			switch {
			case !n.There:
				return "-"
			case n.Mode.IsDir():
				return "d"
			case n.Mode&os.ModeSymlink != 0:
				return "l"
			}
			return "f"
		}
		got = append(got, at.Path+" "+kind(at.Before)+kind(at.After))
	}
	slices.Sort(got)
	want := strings.Fields("again_dd again/kept_dd again/kept/x_f- again/new_-f again/old_f- becomes_df becomes/in_f- changed_ff file_fd file/in_-f fresh_-d fresh/deep_-d fresh/deep/f_-f link_-l removed_f- touched_ff whole_d- whole/a_f- whole/b_d- whole/b/c_f-")
	for i := range want {
		want[i] = strings.Replace(want[i], "_", " ", 1)
	}
	check.That(t, slices.Equal(got, want), "got  %q\nwant %q", got, want)
	for name, there := range map[string]bool{"stays": true, "removed": false, "whole/b/c": false, "again/old": false, "again/new": true, "again/kept/x": false, "file/in": true, "becomes/in": false, "fresh/deep/f": true, "nothing": false} {
		check.Equal(t, v.Find(name).There, there, "%v", name)
	}
	if text, err := v.Read("changed", 10); err != nil || string(text) != "x\n" {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "changed")); err != nil || string(text) != "changed" {
		t.Errorf("the directory itself says %q, %v", text, err)
	}
}

// A command can make neither the mark of something removed nor that of an opaque directory.
func TestMarksAreNotTheCommands(t *testing.T) {
	dir := check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	put(t, dir, "d/stays", "other")
	v := inLayer(t, dir, `mknod d/w c 0 0 2>/dev/null && exit 1; setfattr -n user.overlay.opaque -v y d 2>/dev/null || true; touch d/t`)
	for _, name := range []string{"d/stays", "other", "d/t"} {
		check.That(t, v.Find(name).There, "%s is gone", name)
	}
	var value [2]byte
	n, err := unix.Lgetxattr(filepath.Join(v.Upper, "d"), "user.overlay.opaque", value[:])
	check.That(t, err != nil || string(value[:n]) != "y", "the command made a directory opaque")
}
