package doctor

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const probeTime = 2 * time.Second

func probe(ctx context.Context) ability {
	return ability{namespaces: tryNamespaces(ctx), landlock: landlockVersion(), seccomp: hasSeccomp(), cgroup: delegatedCgroup()}
}

// tryNamespaces makes a process in a user namespace of its own, which then makes a mount namespace and changes a mount in
// it: some systems give the first and refuse the second. The process is the system's true.
func tryNamespaces(ctx context.Context) error {
	program, err := exec.LookPath("true")
	if err != nil {
		return errors.New("not tried: there is no program true")
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER, Unshareflags: syscall.CLONE_NEWNS, // with which os/exec makes / private
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	err = cmd.Run()
	var failed *os.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// landlockVersion asks the kernel: landlock_create_ruleset(2) with LANDLOCK_CREATE_RULESET_VERSION.
func landlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// hasSeccomp asks whether a filter could return an errno: seccomp(2), SECCOMP_GET_ACTION_AVAIL.
func hasSeccomp() bool {
	action := uint32(unix.SECCOMP_RET_ERRNO)
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	return errno == 0
}

// delegatedCgroup is this process's cgroup if the user may make others below it.
func delegatedCgroup() string {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		name, unified := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::")
		if !unified {
			continue
		}
		dir := filepath.Join("/sys/fs/cgroup", name)
		if unix.Access(dir, unix.W_OK) == nil && unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) == nil {
			return dir
		}
	}
	return ""
}
