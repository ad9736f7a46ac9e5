package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
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

func readStat(pid int) (stat, error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(pid, line)
}

// parseStat begins after the last parenthesis: the program's name before it may hold anything.
func parseStat(pid int, line []byte) (stat, error) {
	at := bytes.LastIndexByte(line, ')')
	fields := bytes.Fields(line[at+1:])
	if at < 0 || len(fields) < 20 {
		return stat{}, errors.New("malformed process status")
	}
	process := stat{identity: identity{pid: pid}}
	process.dead = bytes.ContainsAny(fields[0], "ZXx")
	var errs [4]error
	process.parent, errs[0] = strconv.Atoi(string(fields[1]))
	process.group, errs[1] = strconv.Atoi(string(fields[2]))
	process.session, errs[2] = strconv.Atoi(string(fields[3]))
	process.start, errs[3] = strconv.ParseUint(string(fields[19]), 10, 64)
	return process, errors.Join(errs[:]...)
}

// hasMarker reports whether a process was started with the marker in its environment.
func hasMarker(pid int, marker string) bool {
	file, err := os.Open(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	defer file.Close()
	environ, err := io.ReadAll(io.LimitReader(file, maxEnviron))
	if err != nil {
		return false
	}
	entry := MarkerVariable + "=" + marker
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if string(variable) == entry {
			return true
		}
	}
	return false
}
