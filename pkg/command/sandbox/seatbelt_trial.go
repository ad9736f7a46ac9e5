package sandbox

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/probes"
)

var errNoSeatbelt = fmt.Errorf("%w: only macOS has Seatbelt", ErrUnavailable)

// ProbeSeatbelt tries whether macOS's Seatbelt holds a command here, once in the life of the process. Nil is that every probe went as
// it had to; the error says all that did not. It takes some hundred milliseconds the first time.
func ProbeSeatbelt() error { return probeSeatbelt() }

var probeSeatbelt = sync.OnceValue(func() error {
	if seatbeltProgram == "" {
		return errNoSeatbelt
	}
	program, err := os.Executable()
	if err != nil {
		return unavailable(err)
	}
	if err := trySeatbelt(program, seatbeltProgram); err != nil {
		said := strings.ReplaceAll(err.Error(), "\n", "; ")
		return fmt.Errorf("%w: Seatbelt does not hold as it has to: %s", ErrUnavailable, said[:min(len(said), maxSaid)])
	}
	return nil
})

// maxSaid bounds what is said of a trial: the first surprises tell enough.
const maxSaid = 1000

// trySeatbelt runs the probes without the network, and with it.
func trySeatbelt(program, sandboxExec string) error {
	for _, network := range []bool{false, true} {
		if err := tryWorld(network, nil, func(w *probes.World, cmd *exec.Cmd) (*Held, error) {
			return startSeatbelt(cmd, worldProfile(w), sandboxExec)
		}, program); err != nil {
			return err
		}
	}
	return nil
}

// tryWorld runs some of the probes, or all, in a world of their own, by a program that is started in a sandbox.
func tryWorld(network bool, only []string, start func(*probes.World, *exec.Cmd) (*Held, error), program string) error {
	base, err := os.MkdirTemp("", "orchestra-try-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	base, err = filepath.EvalSymlinks(base)
	if err != nil {
		return err
	}
	w, err := probes.Make(base)
	if err != nil {
		return err
	}
	w.Network, w.Only = network, only
	return w.Judge(program, func(environ []string) ([]byte, error) {
		ctx, cancel := context.WithTimeout(context.Background(), probeTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, program)
		cmd.Dir, cmd.Env = w.In("src"), environ
		var held *Held
		report, err := probes.Output(cmd, func() (err error) {
			held, err = start(&w, cmd)
			return err
		})
		held.Close()
		return report, err
	})
}

// probeTime is how long the probes may take.
const probeTime = time.Minute

// worldProfile is the profile of which the probes know what it holds.
func worldProfile(w *probes.World) *Profile {
	p := &Profile{Workspace: w.Root, Writable: w.Writable(), Hidden: w.Hidden(), Emptied: w.Emptied(), Temp: w.Temp, DenyNetwork: !w.Network}
	for _, path := range append(w.Frozen(), w.Absent()...) {
		p.Frozen = append(p.Frozen, Frozen{Path: path})
	}
	for _, path := range w.AbsentDirs() {
		p.Frozen = append(p.Frozen, Frozen{Path: path, Directory: true})
	}
	return p
}
