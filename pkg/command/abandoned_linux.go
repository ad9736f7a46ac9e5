package command

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/intentgov/orchestra-mcp/pkg/command/cgroup"
)

// makerName names this process in the markers and control groups of its commands: the namespace of its process id, the
// id, and its start. A marker is the name, a dot and random digits.
var makerName = sync.OnceValue(func() string {
	self, err := readStat(os.Getpid())
	if err != nil {
		return "0.0.0"
	}
	return fmt.Sprintf("%s.%d.%d", pidNamespace(), self.pid, self.start)
})

func pidNamespace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "0"
	}
	return strings.Trim(name, "pid:[]")
}

// makerIsGone reports whether a marker is of a process that has died. What was marked in another namespace, or by anything
// else, cannot be told, and is left alone.
func makerIsGone(marker string) bool {
	parts := strings.Split(marker, ".")
	if len(parts) != 4 || parts[0] == "0" || parts[0] != pidNamespace() {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || pid <= 0 {
		return false
	}
	start, err := strconv.ParseUint(parts[2], 10, 64)
	if err != nil {
		return false
	}
	maker, err := readStat(pid)
	if err != nil {
		return os.IsNotExist(err) || err == unix.ESRCH || err == unix.ENOENT
	}
	return maker.dead || maker.start != start
}

// endAbandoned kills what carries the marker of a dead maker or is in its group, with all that belongs to it. This
// process, and what it descends from, may carry one too: they are left alone.
func (f *family) endAbandoned() (ended []int) {
	var groups map[string]*cgroup.Group
	if parent, err := f.limits.place(); err == nil {
		groups = parent.Abandoned(makerIsGone)
	}
	markers := abandonedMarkers()
	for name := range groups {
		markers[name] = true
	}
	for _, own := range ancestralMarkers() {
		delete(markers, own)
	}
	for marker := range markers {
		p := &process{family: f, marker: marker, limit: limit{group: groups[marker]}}
		p.plant()
		p.tree.sessions = map[int]bool{}
		ended = append(ended, pids(p.members())...)
		p.sweep(killGrace)
		if group := groups[marker]; group != nil {
			group.Remove()
		}
	}
	slices.Sort(ended)
	return ended
}

// awaitEnd waits until a process has died, other than this one; 0 is none.
func awaitEnd(pid int) {
	if process, err := readStat(pid); pid != 0 && pid != os.Getpid() && err == nil {
		awaitDeath([]stat{process}, killGrace)
	}
}

// abandonedMarkers are the markers of dead makers on the processes that can be read.
func abandonedMarkers() map[string]bool {
	found, judged := map[string]bool{}, map[string]bool{}
	for pid := range readAllStats() {
		markers, _ := markersOf(pid)
		if len(markers) == 0 || judged[markers[0]] {
			continue
		}
		judged[markers[0]] = true
		if makerIsGone(markers[0]) {
			found[markers[0]] = true
		}
	}
	return found
}

// ancestralMarkers are those of this process and of what it descends from.
func ancestralMarkers() (markers []string) {
	for pid, left := os.Getpid(), 256; pid > 1 && left > 0; left-- {
		own, _ := markersOf(pid)
		markers = append(markers, own...)
		process, err := readStat(pid)
		if err != nil {
			break
		}
		pid = process.parent
	}
	return markers
}
