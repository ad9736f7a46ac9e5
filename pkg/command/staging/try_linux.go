package staging

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// probe is the name of the file that a trial writes.
const probe = ".orchestra-probe"

var errElsewhere = errors.New("what was written on one did not stay there")

// Try says why a workspace can have no layers, nil if it can: it runs a command of its own on one, which writes and renames a
// file. It is for machines with the level full, and takes as long as a command.
func Try(w *workspace.Workspace) (err error) {
	if err := Mounted(w); err != nil {
		return err
	}
	layers, err := Open(w)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, layers.Close()) }()
	over, err := layers.Over([]string{w.Dir()})
	if err != nil {
		return err
	}
	temp, err := layers.Sub("temp")
	if err != nil {
		return err
	}
	if err := writes(w.Dir(), over, temp); err != nil {
		return err
	}
	text, err := durable.ReadRegular(filepath.Join(layers.Upper(0), probe), 1<<10)
	if _, below := os.Lstat(filepath.Join(w.Dir(), probe)); err != nil || below == nil || strings.TrimSpace(string(text)) != probe {
		return errElsewhere
	}
	return nil
}

func writes(dir string, over []sandbox.Layer, temp string) error {
	done := make(chan error, 1)
	sandbox.Go(func() {
		var out bytes.Buffer
		cmd := exec.Command("/bin/sh", "-c", "echo "+probe+" > "+probe+".new && mv "+probe+".new "+probe)
		cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, &out, &out, []string{"PATH=/usr/bin:/bin"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		held, err := sandbox.Start(cmd, sandbox.Full, &sandbox.Profile{Workspace: dir, Writable: []string{dir}, Layers: over, Temp: temp, DenyNetwork: true})
		if err == nil {
			_ = cmd.Wait()
			if status, known := held.Status(); !known || status.ExitStatus() != 0 {
				err = fmt.Errorf("a trial failed: %s", strings.TrimSpace(out.String()))
			}
			held.Close()
		}
		done <- err
	})
	return <-done
}

// Mounted says what is mounted in a workspace, nil where nothing is: a layer over it would not show that.
func Mounted(w *workspace.Workspace) error {
	points, err := sandbox.MountPoints()
	for _, point := range points {
		if inside, is := strings.CutPrefix(point, w.Dir()+"/"); is {
			return fmt.Errorf("another file system is mounted in it (%.100q)", inside)
		}
	}
	return err
}
