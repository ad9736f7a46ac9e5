package durable

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Place is where the process ids of this process mean something: the boot of a machine and the pid namespace. "": that
// cannot be told.
func Place() string { return place() }

var place = sync.OnceValue(func() string {
	self, err := os.Readlink("/proc/self")
	boot, noBoot := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, noNamespace := os.Readlink("/proc/self/ns/pid")
	if errors.Join(err, noBoot, noNamespace) != nil || self != strconv.Itoa(os.Getpid()) {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + namespace
})

// Gone reports whether no process of this place has an id, or one that has ended.
func Gone(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	rest := stat[strings.LastIndexByte(string(stat), ')')+1:]
	return len(rest) > 1 && strings.IndexByte("ZXx", rest[1]) >= 0
}
