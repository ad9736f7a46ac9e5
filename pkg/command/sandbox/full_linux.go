package sandbox

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper"
)

// namespaces are those of every command at Full. With CLONE_VM and CLONE_VFORK the server's memory is not copied, which
// takes longer than all the rest; the mappings of ids then have to be written when the helper runs (mapIDs).
const namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
	unix.CLONE_VM | unix.CLONE_VFORK

// startFull makes cmd the helper of the package of that name, and returns when that has started the command inside the
// profile, with a supervisor of its sockets or without.
func startFull(cmd *exec.Cmd, profile *Profile, supervised bool) (*Held, error) {
	if auditArchitecture == 0 {
		return nil, fmt.Errorf("%w: no filter was written for %s", ErrUnavailable, runtime.GOARCH)
	}
	if profile == nil {
		return nil, fmt.Errorf("%w: there is no profile", ErrUnavailable)
	}
	layout := &layout{profile: profile, kinds: map[string]helper.Kind{}, contents: map[string]string{}}
	held := &Held{ended: make(chan struct{}), gone: make(chan struct{}), release: layout.release, linked: !layout.tellsLinks(supervised)}
	is := ErrUnavailable
	err := layout.addPaths()
	if err == nil {
		var plan *helper.Plan
		if plan, err = layout.plan(cmd, supervised); err == nil {
			err = held.start(cmd, plan, profile)
			if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESTALE) { // all of it was there when the plan was made
				is = ErrMoved
			}
		}
	}
	if err != nil {
		layout.release()
		return nil, fmt.Errorf("%w: %w", is, err)
	}
	return held, nil
}

// start starts the helper and tells it what to do. Where that fails, nothing is left running.
func (h *Held) start(cmd *exec.Cmd, plan *helper.Plan, profile *Profile) error {
	ours, theirs, err := conversation()
	if err != nil {
		return err
	}
	become(cmd, theirs, profile)
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		ours.Close()
		return fmt.Errorf("make namespaces: %w", err)
	}
	err = mapIDs(cmd.Process.Pid)
	if err == nil {
		if profile.MaxTasks > 0 {
			LimitTasks(cmd.Process.Pid, profile.MaxTasks)
		}
		err = instruct(ours, plan)
	}
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		ours.Close()
		return err
	}
	go h.listen(ours)
	return nil
}

// become turns a command into the helper that will start it. The helper gets
// nothing of the command's environment: it must not be steered from there.
func become(cmd *exec.Cmd, conversation *os.File, profile *Profile) {
	cmd.Path, cmd.Err = "/proc/self/exe", nil
	cmd.Args = []string{HelperName}
	cmd.Env = []string{helper.Variable + "=" + helper.Run}
	cmd.Dir = ""
	cmd.ExtraFiles = []*os.File{conversation}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Cloneflags |= namespaces
	if profile.DenyNetwork {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWNET
	}
	// A program loses its rights when it is started by somebody who is nobody yet, as the helper is before its id is mapped.
	cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_NET_ADMIN, unix.CAP_SYS_PTRACE}
	if len(profile.Layers) > 0 {
		// What a layer does below it does with the rights of who made it, and its own
		// directory is closed to everybody. The command itself is asked at the layer.
		cmd.SysProcAttr.AmbientCaps = append(cmd.SysProcAttr.AmbientCaps, unix.CAP_DAC_OVERRIDE, unix.CAP_CHOWN, unix.CAP_FOWNER, unix.CAP_FSETID)
	}
}

// conversation is both ends of the helper's descriptor.
func conversation() (ours, theirs *os.File, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket: %w", err)
	}
	if err := unix.SetNonblock(ends[0], true); err != nil { // read by the poller, not by a thread
		unix.Close(ends[0])
		unix.Close(ends[1])
		return nil, nil, fmt.Errorf("make a socket: %w", err)
	}
	return os.NewFile(uintptr(ends[0]), "helper"), os.NewFile(uintptr(ends[1]), "server"), nil
}

// mapIDs gives the helper's user namespace the ids of this process, so that a command's files belong to whom they would
// belong to without it. A user has only the own one; root keeps all, to see whose a file is.
func mapIDs(pid int) error {
	proc := "/proc/" + strconv.Itoa(pid)
	if os.Geteuid() == 0 && mapAll(proc) == nil {
		return nil
	}
	if err := os.WriteFile(proc+"/setgroups", []byte("deny"), 0); err != nil {
		return fmt.Errorf("map the user: %w", err)
	}
	for file, id := range map[string]int{"/gid_map": os.Getegid(), "/uid_map": os.Geteuid()} {
		if err := os.WriteFile(proc+file, fmt.Appendf(nil, "%d %d 1\n", id, id), 0); err != nil {
			return fmt.Errorf("map the user: %w", err)
		}
	}
	return nil
}

func mapAll(proc string) error {
	for _, file := range []string{"/uid_map", "/gid_map"} {
		ours, err := os.ReadFile("/proc/self" + file)
		if err != nil {
			return err
		}
		var theirs []byte
		for line := range strings.Lines(string(ours)) {
			if fields := strings.Fields(line); len(fields) == 3 {
				theirs = fmt.Appendf(theirs, "%s %s %s\n", fields[0], fields[0], fields[2])
			}
		}
		if err := os.WriteFile(proc+file, theirs, 0); err != nil {
			return err
		}
	}
	return nil
}

// tryFull holds a command that finds out whether it is held, and whether it has sockets.
func tryFull() (noFull, noUnix error) {
	dir, err := os.MkdirTemp("", "orchestra-try-")
	if err != nil {
		return unavailable(err), nil
	}
	defer os.RemoveAll(dir)
	try := func(supervised bool) error { return onThread(func() error { return tryIn(dir, supervised) }) }
	if noUnix = try(true); noUnix == nil {
		return nil, nil
	}
	return try(false), noUnix
}

func tryIn(dir string, supervised bool) error {
	dir, err := resolved(dir)
	if err != nil {
		return unavailable(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{helper.Variable + "=" + helper.Try}
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	held, err := startFull(cmd, &Profile{Workspace: dir, Temp: dir, DenyNetwork: true}, supervised)
	if err != nil {
		return explainedFull(err)
	}
	defer held.Close()
	cmd.Wait()
	code := -1
	if status, ok := held.Status(); ok {
		code = status.ExitStatus()
	}
	switch {
	case code == helper.Held, code == helper.Unconnected && !supervised:
		return nil
	case code == helper.Unconnected:
		return fmt.Errorf("%w: a process cannot be connected to its own Unix socket by another (seccomp_unotify, pidfd_getfd, unix_diag)", ErrUnavailable)
	}
	return fmt.Errorf("%w: a trial came to nothing (%v)", ErrUnavailable, cmd.ProcessState)
}

// explainedFull adds to the kernel's word what it may mean here.
func explainedFull(err error) error {
	if !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.ENOSPC) {
		return err
	}
	for _, setting := range []struct{ path, bad, means string }{
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
			"AppArmor keeps ordinary programs from using user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for this program, allows it)"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0",
			"user namespaces are for root only (sysctl kernel.unprivileged_userns_clone=1 allows them)"},
		{"/proc/sys/user/max_user_namespaces", "0",
			"user namespaces are turned off (sysctl user.max_user_namespaces)"},
	} {
		if value, readErr := durable.ReadRegular(setting.path, 64); readErr == nil && strings.TrimSpace(string(value)) == setting.bad {
			return fmt.Errorf("%w: %s", err, setting.means)
		}
	}
	return fmt.Errorf("%w: inside a container, its runtime has to allow user namespaces, mounts and a /proc that nothing is masked in", err)
}

// startGrace is how long a helper may take to start its command: a machine that takes longer is not going to.
const startGrace = 30 * time.Second

// instruct sends the plan, and returns nil when the command runs.
func instruct(conversation *os.File, plan *helper.Plan) error {
	encoded := plan.Encode()
	message := binary.LittleEndian.AppendUint32(nil, uint32(len(encoded)))
	conversation.SetDeadline(time.Now().Add(startGrace))
	if _, err := conversation.Write(append(message, encoded...)); err != nil {
		// It may have said why it does not listen.
		if _, _, told := receive(conversation); told != nil && !errors.Is(told, io.EOF) {
			return told
		}
		return fmt.Errorf("tell the helper: %w", err)
	}
	kind, _, err := receive(conversation)
	if err != nil {
		return fmt.Errorf("the helper did not start the command: %w", err)
	}
	if kind != helper.Started {
		return fmt.Errorf("the helper answered %q", kind)
	}
	conversation.SetDeadline(time.Time{})
	return nil
}

// listen hears of the end of the command, and then of the helper's.
func (h *Held) listen(conversation *os.File) {
	defer close(h.gone)
	defer conversation.Close()
	in := bufio.NewReaderSize(conversation, 16)
	end := sync.OnceFunc(func() { close(h.ended) })
	defer end()
	for {
		kind, number, err := receive(in)
		switch {
		case err != nil:
			return
		case kind == helper.Linked:
			h.linked = true
		case kind == helper.Ended:
			h.status, h.known = syscall.WaitStatus(number), true
			end() // what the command left may go on
		}
	}
}

// receive reads one message. A step that failed is an error that wraps its number.
func receive(in io.Reader) (kind byte, number uint32, err error) {
	var head [5]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, 0, err
	}
	kind, number = head[0], binary.LittleEndian.Uint32(head[1:])
	if kind != helper.Failed {
		return kind, number, nil
	}
	text := make([]byte, 1)
	if _, err := io.ReadFull(in, text); err == nil {
		text = make([]byte, text[0])
		io.ReadFull(in, text)
	}
	return kind, number, fmt.Errorf("%s: %w", text, syscall.Errno(number))
}
