//go:build unix

package command

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// family is the processes that one Runner has started. Where orphans are adopted, its lock is held while one is started
// and while the process table is read: a shell that is not known yet would look like an orphan.
type family struct {
	adopt  bool
	limits limits

	mu   sync.Mutex
	live map[int]*process // by the shell's process id
}

// process is one shell and everything that descends from it.
type process struct {
	family *family
	cmd    *exec.Cmd
	pid    int
	marker string
	tree   tree
	held   *sandbox.Held
	limit  limit

	ended   chan struct{} // closed when the shell has ended; its process id stays taken until release
	release chan struct{} // closed when the process id is not needed any more
	reaped  chan struct{} // closed when the exit status is known
}

// start runs the shell in a session of its own.
func (f *family) start(shell string, spec *Spec, theirs streams) (*process, error) {
	dir, err := startDirectory(spec.Dir)
	if err != nil {
		return nil, err
	}
	p := &process{
		family:  f,
		cmd:     spec.program(shell),
		marker:  newMarker(),
		ended:   make(chan struct{}),
		release: make(chan struct{}),
		reaped:  make(chan struct{}),
	}
	p.cmd.Dir = dir
	p.cmd.Env = environment(spec.Env, p.marker)
	p.cmd.Stdout, p.cmd.Stderr = theirs.output, theirs.output
	if theirs.errors != nil {
		p.cmd.Stderr = theirs.errors
	}
	if theirs.input != nil {
		p.cmd.Stdin = theirs.input // else it is the null device
	}
	p.cmd.SysProcAttr = processAttributes()
	p.cmd.SysProcAttr.Setctty = spec.Through != nil && spec.Through.Terminal // with Ctty 0, its standard input
	started := make(chan error)
	sandbox.Go(func() { p.live(spec, started) })
	err = <-started
	runtime.KeepAlive(spec.Dir)
	return p, err
}

// live starts the shell and stays with it, on a thread that the sandbox may restrict for good. The thread is kept for as long, because
// the kernel takes the end of the thread that started a child for the death of the parent (PR_SET_PDEATHSIG).
func (p *process) live(spec *Spec, started chan<- error) {
	err := p.family.launch(p, spec)
	started <- err
	if err != nil {
		return
	}
	if shell := p.held.Ended(); shell != nil {
		<-shell
	} else {
		p.waitUnreaped()
	}
	close(p.ended)
	<-p.release
	p.cmd.Wait() // the status is in ProcessState, whatever it is
	p.held.Close()
	p.family.remove(p)
	close(p.reaped)
}

func (f *family) launch(p *process, spec *Spec) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	closeInherited()
	held, err := f.startLimited(p, spec)
	if err != nil {
		return err
	}
	p.held = held
	p.pid = p.cmd.Process.Pid
	p.plant()
	f.live[p.pid] = p
	f.guard(p)
	return nil
}

func (f *family) remove(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.live, p.pid)
}

// single reports whether the command is known to have given no file one more name. It is for after reap.
func (p *process) single() bool {
	select {
	case <-p.reaped:
		return !p.held.Linked()
	default:
		return false
	}
}

// reap returns the exit code and the signal of the shell, or -1 if it could not be killed; it is then reaped when it ends by itself.
func (p *process) reap() (code int, signal string) {
	close(p.release)
	if !within(killGrace, p.reaped) {
		return -1, ""
	}
	status, ok := p.held.Status()
	if !ok {
		status, ok = p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	}
	if ok && status.Signaled() {
		return 128 + int(status.Signal()), unix.SignalName(status.Signal())
	}
	if ok {
		return status.ExitStatus(), ""
	}
	return p.cmd.ProcessState.ExitCode(), ""
}

func (p *process) id() int { return p.pid }

func newMarker() string {
	var random [16]byte
	rand.Read(random[:]) // never fails, as documented
	return makerName() + "." + hex.EncodeToString(random[:])
}

// firstInherited is the lowest descriptor that a command must not get: below it are its own three.
const firstInherited = 3

// closeInheritedOneByOne marks what this process has open now. Go opens everything with close-on-exec; what is meant are
// descriptors that the server was started with.
func closeInheritedOneByOne() {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd >= firstInherited {
			syscall.CloseOnExec(fd)
		}
	}
}

// Shell returns the program that Run starts and the dialect in which it reads a command: "bash", or "posix" for sh.
// Fixed places come before PATH, which can name directories that an agent writes to.
func Shell() (path, dialect string, err error) {
	for _, candidate := range []string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "bash", "/bin/sh", "sh"} {
		found, err := exec.LookPath(candidate)
		if err != nil || !filepath.IsAbs(found) {
			continue
		}
		if filepath.Base(candidate) == "bash" {
			return found, "bash", nil
		}
		return found, "posix", nil
	}
	return "", "", ErrNoShell
}

func (s *Spec) program(shell string) *exec.Cmd {
	if len(s.Program) > 0 {
		return &exec.Cmd{Path: s.Program[0], Args: s.Program}
	}
	return shellCommand(shell, s.Command)
}

// shellCommand is the shell with the line as its only code. A line that begins with a dash or a plus would be read as
// an option; a blank before it changes nothing else, and works in every shell, unlike "--".
func shellCommand(shell, line string) *exec.Cmd {
	if strings.HasPrefix(line, "-") || strings.HasPrefix(line, "+") {
		line = " " + line
	}
	return exec.Command(shell, "-c", line)
}
