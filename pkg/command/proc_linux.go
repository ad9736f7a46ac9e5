package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxEnviron bounds what is read of a process's environment; the kernel allows up to 6 MiB for it.
const maxEnviron = 8 << 20

// stat is what a walk needs of /proc/PID/stat (proc_pid_stat(5)).
type stat struct {
	identity
	parent  int
	group   int
	session int
	dead    bool // a zombie, or about to be gone
	stopped bool
}

// readAllStats reads the process table. What ends meanwhile is left out.
func readAllStats() map[int]stat {
	all := map[int]stat{}
	proc, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if process, err := readStat(pid); err == nil {
			all[pid] = process
		}
	}
	return all
}

// readStat goes past package os: a walk reads one of these for every process of the machine.
func readStat(pid int) (stat, error) {
	path := "/proc/" + strconv.Itoa(pid) + "/stat"
	fd, err := uninterrupted(func() (int, error) { return unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0) })
	if err != nil {
		return stat{}, err
	}
	defer unix.Close(fd)
	var line [1024]byte
	n, err := uninterrupted(func() (int, error) { return unix.Read(fd, line[:]) })
	if err != nil {
		return stat{}, err
	}
	return parseStat(pid, line[:n])
}

// standsStill reports whether no thread of a process runs any more.
func standsStill(pid int) bool {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return true // it is gone
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			continue
		}
		if now, err := readStat(id); err == nil && !now.stopped && !now.dead {
			return false
		}
	}
	return true
}

// uninterrupted repeats a call that a signal has broken off: a process must not be overlooked for that.
func uninterrupted(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

// parseStat begins after the last parenthesis: the program's name before it may hold anything.
func parseStat(pid int, line []byte) (stat, error) {
	at := bytes.LastIndexByte(line, ')')
	fields := bytes.Fields(line[at+1:])
	if at < 0 || len(fields) < 20 {
		return stat{}, errors.New("malformed process status")
	}
	process := stat{identity: identity{pid: pid}}
	process.dead, process.stopped = bytes.ContainsAny(fields[0], "ZXx"), bytes.ContainsAny(fields[0], "Tt")
	var errs [4]error
	process.parent, errs[0] = strconv.Atoi(string(fields[1]))
	process.group, errs[1] = strconv.Atoi(string(fields[2]))
	process.session, errs[2] = strconv.Atoi(string(fields[3]))
	process.start, errs[3] = strconv.ParseUint(string(fields[19]), 10, 64)
	return process, errors.Join(errs[:]...)
}

// markersOf are the markers in the environment that a process was started with, and whether that can be known: it
// cannot at the moment in which a process starts another program.
func markersOf(pid int) (markers []string, known bool) {
	file, err := os.Open(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil, false
	}
	defer file.Close()
	environ, err := io.ReadAll(io.LimitReader(file, maxEnviron))
	if err != nil || len(environ) == 0 {
		return nil, false
	}
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if marker, ok := bytes.CutPrefix(variable, []byte(MarkerVariable+"=")); ok {
			markers = append(markers, string(marker))
		}
	}
	return markers, true
}

// loadAverage has the words of /proc/loadavg (proc_loadavg(5)): one read, whatever the number of processes.
func loadAverage() []string {
	line, _ := os.ReadFile("/proc/loadavg")
	return strings.Fields(string(line))
}

// lastPID is the process id that was given last: as long as it stays, no process was made.
func lastPID() string {
	words := loadAverage()
	return strings.Join(words[min(4, len(words)):], "")
}

// tasksNow counts the processes and threads of the machine.
func tasksNow() int {
	if words := loadAverage(); len(words) > 3 {
		_, all, _ := strings.Cut(words[3], "/")
		if tasks, err := strconv.Atoi(all); err == nil {
			return tasks
		}
	}
	return 1 << 30
}
