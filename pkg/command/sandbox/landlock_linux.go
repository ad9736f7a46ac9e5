package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// The rights of Landlock that change something, or read a file. Listing and executing are not handled: they stay as they are.
const (
	readRights = syscall.AccessFSReadFile
	fileRights = syscall.AccessFSWriteFile | syscall.AccessFSTruncate | syscall.AccessFSIoctlDev
	treeRights = fileRights | syscall.AccessFSRemoveDir | syscall.AccessFSRemoveFile | syscall.AccessFSMakeChar |
		syscall.AccessFSMakeDir | syscall.AccessFSMakeReg | syscall.AccessFSMakeSock | syscall.AccessFSMakeFifo |
		syscall.AccessFSMakeBlock | syscall.AccessFSMakeSym | syscall.AccessFSRefer
	netRights = syscall.AccessNetBindTCP | syscall.AccessNetConnectTCP
)

// The versions of Landlock's interface that brought what is used here.
const (
	abiRefer    = 2
	abiTruncate = abiOfTruncation
	abiNetwork  = 4
	abiIoctl    = 5
	abiScope    = abiOfScopes
)

// erratumSignals is the second erratum: before its fix, a thread that scopes signals could not signal the other threads
// of its own process, as Go's runtime does.
const erratumSignals = 1 << 1

// startLandlock restricts the calling thread, for good, with what a version of Landlock has, and starts cmd from it.
func startLandlock(cmd *exec.Cmd, profile *Profile, abi int) (*Held, error) {
	if onMainThread() {
		// The domain would hold the server too, as far as signals go: they are judged by its main thread.
		return nil, errors.New("a command must not be started from the main thread")
	}
	not, err := restrict(profile, abi)
	if err != nil {
		return nil, unavailable(fmt.Errorf("Landlock: %w", err))
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil { // see dropRights
		return nil, unavailable(fmt.Errorf("close the server's memory: %w", err))
	}
	w, err := isolate(not)
	if err != nil && Probe().Signals {
		return nil, unavailable(err)
	}
	if err := cmd.Start(); err != nil {
		w.dismiss()
		return nil, err
	}
	return &Held{release: w.dismiss}, nil
}

// restrict holds the calling thread, and what it starts, to the profile, and says what is left to isolate.
func restrict(profile *Profile, abi int) (not lacking, err error) {
	rules, scoped, err := ruleset(profile, abi)
	not = lacking{signals: scoped&syscall.ScopeSignal == 0, truncation: abi < abiTruncate}
	if err != nil {
		return not, err
	}
	defer unix.Close(rules)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return not, fmt.Errorf("no_new_privs: %w", err)
	}
	if err := syscall.LandlockRestrictSelf(rules, 0); err != nil {
		return not, fmt.Errorf("restrict: %w", err)
	}
	if profile.DenyNetwork {
		return not, denySockets()
	}
	return not, nil
}

// ruleset is a descriptor of the rules of a profile.
func ruleset(profile *Profile, abi int) (rules int, scoped uint64, err error) {
	attributes := syscall.RulesetAttr{HandledAccessFS: known(treeRights|readRights, abi)}
	if abi >= abiOfNamedSockets {
		attributes.HandledAccessFS |= syscall.AccessFSResolveUnix // which no place has: only its own are left
	}
	if profile.DenyNetwork && abi >= abiNetwork {
		attributes.HandledAccessNet = netRights
	}
	if abi >= abiScope {
		attributes.Scoped = syscall.ScopeAbstractUnixSocket
		if errata, err := syscall.LandlockGetErrata(); err == nil && errata&erratumSignals != 0 {
			attributes.Scoped |= syscall.ScopeSignal
		}
	}
	rules, err = syscall.LandlockCreateRuleset(&attributes, 0)
	if err != nil {
		return -1, 0, fmt.Errorf("ruleset: %w", err)
	}
	if err := allowAll(rules, profile, abi); err != nil {
		unix.Close(rules)
		return -1, 0, err
	}
	return rules, attributes.Scoped, nil
}

// allowAll adds what the profile and the tools need to write, and what may be read. /dev/shm is shared with the user's other
// programs; tests of many languages do not run without.
func allowAll(rules int, profile *Profile, abi int) error {
	for _, path := range append(slices.Clip(profile.Writable), profile.Temp) {
		if path == "" || slices.Contains(profile.Hidden, path) || slices.Contains(profile.Emptied, path) {
			continue
		}
		if err := allow(rules, path, false, abi); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, device := range Devices() {
		if err := allow(rules, device, true, abi); err != nil {
			return fmt.Errorf("%s: %w", device, err)
		}
	}
	if err := allowReading(rules, profile); err != nil {
		return fmt.Errorf("reading: %w", err)
	}
	return nil
}

// allowReading adds the rules for what may be read. Nothing is asked about what
// they are for: the server of a mounted directory may be gone.
func allowReading(rules int, profile *Profile) error {
	w, _ := profile.readable(Landlock)
	_, err := w.each(func(dir int, name, _ string) error {
		fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil // it is gone, or nobody can have it
		}
		defer unix.Close(fd)
		return syscall.LandlockAddPathBeneathRule(rules, &syscall.PathBeneathAttr{AllowedAccess: readRights, ParentFd: fd}, 0)
	})
	return err
}

// known leaves out the rights that the kernel does not know yet.
func known(rights uint64, abi int) uint64 {
	if abi < abiRefer {
		rights &^= syscall.AccessFSRefer
	}
	if abi < abiTruncate {
		rights &^= syscall.AccessFSTruncate
	}
	if abi < abiIoctl {
		rights &^= syscall.AccessFSIoctlDev
	}
	return rights
}

// Devices are the devices that tools use. Pseudo-terminals are not among them:
// those of a command cannot be told from that of the operator.
func Devices() []string { return append(strings.Fields(devices), "/dev/shm") }

const devices = "/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty"

// allow adds a rule for one path, which must not be a link; an optional one may be, or be missing, without one.
func allow(rules int, path string, optional bool, abi int) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		if optional {
			return nil
		}
		return err
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	rights := uint64(fileRights | readRights)
	switch info.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		rights = treeRights | readRights
	case unix.S_IFLNK:
		if optional {
			return nil
		}
		return errors.New("it is a link")
	}
	return syscall.LandlockAddPathBeneathRule(rules, &syscall.PathBeneathAttr{AllowedAccess: known(rights, abi), ParentFd: fd}, 0)
}

// tryLandlock restricts a thread that is thrown away, and sees whether it is kept from writing.
func tryLandlock() (abi int, err error) {
	victim, remove := writable()
	defer remove()
	if err := onThread(func() error { return tryOnThread(victim) }); err != nil {
		return 0, unavailable(fmt.Errorf("Landlock: %w", err))
	}
	return syscall.LandlockGetABIVersion()
}

// writable is a file that this process may write. In a container either place may be read-only.
func writable() (path string, remove func()) {
	file, err := os.CreateTemp("", "orchestra-try-")
	if err != nil {
		return "/proc/self/comm", func() {}
	}
	file.Close()
	return file.Name(), func() { os.Remove(file.Name()) }
}

func tryOnThread(victim string) error {
	abi, err := syscall.LandlockGetABIVersion()
	if err == nil {
		_, err = restrict(&Profile{}, abi)
	}
	if err != nil {
		return explained(err)
	}
	fd, err := unix.Open(victim, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
		return errors.New("it is there, and holds nothing")
	}
	if !errors.Is(err, unix.EACCES) {
		return fmt.Errorf("it could not be tried: %w", err)
	}
	return nil
}

// explained adds to the kernel's word what it means here.
func explained(err error) error {
	switch {
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("this kernel has none (%w)", err)
	case errors.Is(err, unix.EOPNOTSUPP):
		return fmt.Errorf("it is turned off at boot, see lsm= on the kernel's command line (%w)", err)
	}
	return err
}

func onMainThread() bool { return unix.Gettid() == unix.Getpid() }
