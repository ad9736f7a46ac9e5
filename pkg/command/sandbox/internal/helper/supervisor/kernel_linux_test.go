package supervisor_test

import (
	"os"
	"runtime"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/helper/supervisor"
)

// TestTheProcessOfAThread is found in /proc, as before Linux 6.9.
func TestTheProcessOfAThread(t *testing.T) {
	done := make(chan int)
	go func() {
		runtime.LockOSThread() // the thread ends with it
		thread := syscall.Gettid()
		group, errno := supervisor.GroupOf(uint32(thread))
		check.That(t, errno == 0 && group == uint64(os.Getpid()), "%d of thread %d in process %d: %v", group, thread, os.Getpid(), errno)
		done <- thread
	}()
	<-done
	_, errno := supervisor.GroupOf(1 << 30)
	check.Equal(t, errno, syscall.ENOENT)
}

func TestTheDeviceOfAMount(t *testing.T) {
	const table = "22 1 0:25 / /sys rw shared:7 - sysfs sysfs rw\n" +
		"122 22 259:1048575 /a\\040b /mnt rw - btrfs /dev/x rw,subvol=/\n"
	for mount, want := range map[uint64]uint32{22: 25, 122: 259<<20 | 1048575} {
		device, known := supervisor.DeviceOf(mount, []byte(table))
		check.That(t, known && device == want, "%d: %x %v", mount, device, known)
	}
	for length := range len(table) { // whatever is missing, it returns
		supervisor.DeviceOf(122, []byte(table[:length]))
	}
	device, known := supervisor.DeviceOf(1, []byte(table))
	check.That(t, !known, "%x", device)
}
