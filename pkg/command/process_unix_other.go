//go:build unix && !linux

package command

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

func newFamily(bool) (*family, error) {
	return &family{live: map[int]*process{}}, nil
}

func processAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true}
}

// startDirectory checks that the name still leads to the open directory. Between this and the start it can be swapped;
// these systems have no way to start a child in a descriptor without moving the whole server.
func startDirectory(dir *os.File) (string, error) {
	opened, err := dir.Stat()
	if err != nil {
		return "", err
	}
	named, err := os.Stat(dir.Name())
	if err != nil {
		return "", err
	}
	if !os.SameFile(opened, named) {
		return "", errors.New("the directory was replaced; run the command again")
	}
	return dir.Name(), nil
}

// There are no limits on these systems.
type (
	limits struct{}
	limit  struct{}
)

func (f *family) startLimited(p *process, spec *Spec) (*sandbox.Held, error) {
	return sandbox.Start(p.cmd, spec.Level, spec.Profile)
}

func (f *family) guard(*process) {}

func (p *process) bounded(*Result) {}

func (p *process) tooMany() <-chan struct{} { return nil }

// makerName is of no use where nobody looks for what a dead server left.
func makerName() string { return strconv.Itoa(os.Getpid()) }

func (f *family) endAbandoned() []int { return nil }

func awaitEnd(int) {}

func closeInherited() { closeInheritedOneByOne() }

// tree has nothing to remember: the process group is all that is known.
type tree struct{}

func (p *process) plant() {}

// waitUnreaped reaps as well: there is no portable way to wait for a process and leave it.
func (p *process) waitUnreaped() { p.cmd.Wait() }

func (p *process) interrupt() {
	syscall.Kill(-p.pid, syscall.SIGTERM)
}

func (p *process) hold()   { syscall.Kill(-p.pid, syscall.SIGSTOP) }
func (p *process) resume() { syscall.Kill(-p.pid, syscall.SIGCONT) }

func (p *process) busy() bool { return syscall.Kill(-p.pid, 0) == nil }

func (p *process) sweep(time.Duration) []int {
	syscall.Kill(-p.pid, syscall.SIGKILL)
	return nil
}
