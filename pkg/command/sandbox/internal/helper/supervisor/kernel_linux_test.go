package supervisor_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper/supervisor"
)

// TestTheProcessOfAThread is found in /proc, as before Linux 6.9.
func TestTheProcessOfAThread(t *testing.T) {
	done := make(chan int)
	go func() {
		runtime.LockOSThread() // the thread ends with it
		thread := syscall.Gettid()
		if group, errno := supervisor.GroupOf(uint32(thread)); errno != 0 || group != uint64(os.Getpid()) {
			t.Errorf("%d of thread %d in process %d: %v", group, thread, os.Getpid(), errno)
		}
		done <- thread
	}()
	<-done
	if _, errno := supervisor.GroupOf(1 << 30); errno != syscall.ENOENT {
		t.Error(errno)
	}
}

func TestTheDeviceOfAMount(t *testing.T) {
	const table = "22 1 0:25 / /sys rw shared:7 - sysfs sysfs rw\n" +
		"122 22 259:1048575 /a\\040b /mnt rw - btrfs /dev/x rw,subvol=/\n"
	for mount, want := range map[uint64]uint32{22: 25, 122: 259<<20 | 1048575} {
		if device, known := supervisor.DeviceOf(mount, []byte(table)); !known || device != want {
			t.Errorf("%d: %x %v", mount, device, known)
		}
	}
	for length := range len(table) { // whatever is missing, it returns
		supervisor.DeviceOf(122, []byte(table[:length]))
	}
	if device, known := supervisor.DeviceOf(1, []byte(table)); known {
		t.Errorf("%x", device)
	}
}
