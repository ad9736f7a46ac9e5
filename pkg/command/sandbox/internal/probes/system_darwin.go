package probes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

func exchange(a, b string) error { return unix.RenamexNp(a, b, unix.RENAME_SWAP) }

func kill(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

// The numbers of sysctl(3) for the arguments and the environment of a process. They have no name that could be asked for.
const (
	ctlKern       = 1
	kernProcArgs2 = 49
)

func environment(pid int) ([]byte, error) {
	mib := [3]int32{ctlKern, kernProcArgs2, int32(pid)}
	content := make([]byte, 1<<20)
	size := uintptr(len(content))
	_, _, errno := syscall.Syscall6(syscall.SYS___SYSCTL, uintptr(unsafe.Pointer(&mib[0])), uintptr(len(mib)),
		uintptr(unsafe.Pointer(&content[0])), uintptr(unsafe.Pointer(&size)), 0, 0)
	if errno != 0 {
		return nil, errno
	}
	return content[:min(size, uintptr(len(content)))], nil
}

// otherRoots are directories in which the whole tree stands once more: what is no part of the system itself does here.
func otherRoots() []string { return []string{"/System/Volumes/Data"} }

// byNumber is the name that volfs has for a file, "" where it cannot be known.
func byNumber(path string) string {
	var stat syscall.Stat_t
	if syscall.Lstat(path, &stat) != nil {
		return ""
	}
	return fmt.Sprintf("/.vol/%d/%d", stat.Dev, stat.Ino)
}

// clones are copies for which nobody has to read.
func clones() []Probe {
	return []Probe{
		mustNot("read a hidden file by a clone", func(w *World) error {
			return errors.Join(unix.Clonefile(w.In("secret.env"), w.In("src/clone"), 0), read(w.In("src/clone"), secret))
		}),
		mustNot("read in a hidden directory by a clone", func(w *World) error {
			return errors.Join(unix.Clonefile(w.In("private"), w.In("src/clones"), 0), read(w.In("src/clones/key"), secret))
		}),
	}
}

// daemons are those that start programs for whoever asks them, or write files. Launch Services and Apple events are not tried:
// where they answered, something would open on the screen.
func daemons() []Probe {
	return []Probe{
		mustNot("have the daemon of preferences write", func(w *World) error {
			file := filepath.Join(w.Out, "written.plist")
			if out, err := exec.Command("/usr/bin/defaults", "write", file, "key", "value").CombinedOutput(); err != nil {
				return fmt.Errorf("%w: %.200s", err, out)
			}
			return appears(file)
		}),
		mustNot("have launchd run a program", func(w *World) error {
			launchctl := func(arguments ...string) error {
				out, err := exec.Command("/bin/launchctl", arguments...).CombinedOutput()
				if err != nil {
					err = fmt.Errorf("%w: %.200s", err, out)
				}
				return err
			}
			if err := launchctl("submit", "-l", job(), "--", "/usr/bin/touch", filepath.Join(w.Out, "launched")); err != nil {
				return err
			}
			defer launchctl("remove", job())
			// What it answers to a job that it does not take is nowhere written, so what counts is whether the program has run.
			return appears(filepath.Join(w.Out, "launched"))
		}),
	}
}

// appears waits for a file, and is an error where none comes.
func appears(path string) error {
	for range 100 {
		if _, err := os.Lstat(path); err == nil {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("nothing came of it")
}
