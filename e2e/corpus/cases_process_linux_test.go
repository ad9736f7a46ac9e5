package corpus_test

import (
	"os"
	"path/filepath"
	"strings"
)

// processAttacks outlive their call, reach other processes, or take others'
// sockets.
func processAttacks() []attack {
	return []attack{
		{name: "a writer in the background that outlives its line", sh: waiter, line: "sh src/attack.sh & true", then: release},
		{name: "nohup and setsid, writing when the call has ended", sh: waiter, line: "nohup setsid sh src/attack.sh > src/out 2>&1 & true", then: release},
		{name: "a daemon by double fork, without its environment", sh: waiter, line: `setsid sh -c 'env -i PATH="$PATH" setsid sh src/attack.sh {TOP} < /dev/null > /dev/null 2>&1 &' & sleep 0.1`, then: release},
		{name: "kill -9 of the server", line: "kill -9 {PID}; true", alone: true},
		{name: "kill -9 of the parent", line: "kill -9 $PPID; true", alone: true},
		{name: "kill -9 of the server's process group", line: "kill -9 -- -{PID}; true", alone: true},
		{name: "kill -9 of every thread of the server", line: "for t in /proc/{PID}/task/*; do kill -9 ${t##*/}; done; true", alone: true},
		{name: "the server's limits", python: "import resource\nresource.prlimit({PID}, resource.RLIMIT_NOFILE, (1000, 1000)); print('REA' 'CHED')", alone: true},
		{name: "SIGSTOP to the server, then SIGCONT", line: "kill -STOP {PID} && kill -CONT {PID} && echo REACHED", varies: true},
		{name: "ptrace of the server", python: "import ctypes, os\nlibc = ctypes.CDLL(None)\nif libc.ptrace(0x4206, {PID}, 0, 0) == 0: print('REA' 'CHED')", varies: true},
		{name: "the server's memory", python: "f = open('/proc/{PID}/mem', 'r+b'); m = open('/proc/{PID}/maps').readline(); f.seek(int(m.split('-')[0], 16)); f.read(8); print('REA' 'CHED')", varies: true},
		{name: "ptrace of the server's threads", python: "import ctypes, os\nlibc = ctypes.CDLL(None)\nfor t in os.listdir('/proc/{PID}/task'):\n    if libc.ptrace(0x4206, int(t), 0, 0) == 0: print('REA' 'CHED')", varies: true},
		{name: "the memory of the server's threads", python: "import os\nfor t in os.listdir('/proc/{PID}/task'):\n    try:\n        m = open('/proc/' + t + '/maps').readline(); f = open('/proc/' + t + '/mem', 'rb'); f.seek(int(m.split('-')[0], 16)); f.read(8); print('REA' 'CHED')\n    except OSError: pass", varies: true},
		{name: "the server's environment", line: "tr '\\0' '\\n' < /proc/{PID}/environ | grep -q HOME && echo REACHED", varies: true},
		{name: "the server's descriptors", python: "import os\nfor n in os.listdir('/proc/{PID}/fd'):\n    try:\n        p = '/proc/{PID}/fd/' + n\n        if os.path.isdir(p): open(p + '/docs/other.md', 'w').write('x')\n    except OSError: pass", varies: true},
		{name: "/proc/PID/root of the server", line: "echo x | tee /proc/{PID}/root{WS}/docs/other.md", varies: true},
		{name: "/proc/PID/cwd of the server", line: "echo x | tee /proc/{PID}/cwd/elsewhere/victim", varies: true},
		{name: "/proc/self/root", line: "echo x | tee /proc/self/root{WS}/docs/other.md"},
		{name: "/proc/self/cwd", line: "cd src && echo x | tee /proc/self/cwd/../docs/other.md"},
		{name: "/proc/1/root", line: "echo x | tee /proc/1/root{WS}/docs/other.md", varies: true},
		{name: "/proc/sys", line: "f=/proc/sys/kernel/panic_on_oops; tee $f < $f && echo REACHED", varies: true},
		{name: "docker.sock in the home", python: connect("{HOME}/run/docker.sock")},
		{name: "the socket of ssh-agent", python: connect("{HOME}/run/agent.sock")},
		{name: "the socket that SSH_AUTH_SOCK names", python: connect("$SSH_AUTH_SOCK")},
		{name: "a socket that was renamed since it was bound", python: connect("{HOME}/run/renamed.sock")},
		{name: "OpenSSH's ControlMaster, which is linked to its name", python: connect("{HOME}/run/master.sock")},
		{name: "a socket by its descriptor", python: "import os\nos.chdir('{HOME}/run'); f = os.open('docker.sock', os.O_PATH)\n" + connect("/proc/self/fd/%d' % f + '")},
		{name: "a message to a socket of datagrams", python: "import socket\nsocket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', '{HOME}/run/log.sock'); print('REA' 'CHED')"},
		{name: "a message from a pair of datagram sockets", python: "import socket\nsocket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', '{HOME}/run/log.sock'); print('REA' 'CHED')"},
		{name: "a FIFO out of scope", line: "mkfifo docs/fifo"},
		{name: "the lock that every change takes", python: "import fcntl\nfcntl.flock(open('.orchestration/state/lock'), fcntl.LOCK_EX); print('REA' 'CHED')"},
		{name: "the lock that every record takes", python: "import fcntl\nfcntl.flock(open('{LEDGER}/state/lock'), fcntl.LOCK_EX); print('REA' 'CHED')"},
		{name: "a lease of the intents, which nobody can open then", python: "import fcntl\nfcntl.fcntl(open('.orchestration/active_intents.yaml'), 1024, 1); print('REA' 'CHED')", varies: true},
	}
}

// waiter writes as soon as it is told to; the test tells it when the call has
// ended. Its command line has the world's name.
const waiter = `: {TOP}
while [ ! -e src/go ]; do sleep 0.05; done
echo x > docs/other.md
echo x > {OUT}/victim`

// release tells what is left of a command to write, and demands that nothing
// is.
func release(w *world) {
	w.t.Helper()
	if left := w.running(); len(left) > 0 {
		w.t.Errorf("still there: %q", left)
	}
	w.put("ws/src/go", "")
}

// running are the processes that stand in the world's workspace, but the
// server.
func (w *world) running() []string {
	w.t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/cwd")
	check(w.t, err)
	var left []string
	for _, dir := range dirs {
		if at, err := os.Readlink(dir); err == nil && strings.HasPrefix(at, w.ws) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(dir), "cmdline"))
			left = append(left, filepath.Base(filepath.Dir(dir))+" "+string(line))
		}
	}
	return left
}

func connect(path string) string {
	return "import os, socket\ns = socket.socket(socket.AF_UNIX); s.connect(os.path.expandvars('" + path + "')); print('REA' 'CHED')"
}

// privilegeAttacks want to be somebody else, or in another namespace.
func privilegeAttacks() []attack {
	return []attack{
		{name: "unshare and remount", line: "unshare -rm sh -c 'mount -o remount,bind,rw {WS}/docs; umount -l {WS}/docs; echo x | tee docs/other.md'", varies: true},
		{name: "unshare of a process namespace", line: "unshare -rpf sh -c 'echo x | tee docs/other.md'", varies: true},
		{name: "nsenter into the server's namespaces", line: "nsenter -t {PID} -a sh -c 'echo x | tee {WS}/docs/other.md'", varies: true},
		{name: "chroot to the server's root", line: "chroot /proc/{PID}/root sh -c 'echo x | tee {WS}/docs/other.md'", varies: true},
		{name: "su", line: "su root -c 'echo x | tee {WS}/docs/other.md' < /dev/null", varies: true},
		{name: "setuid(0), then root's rights over files", python: "import os\nos.setuid(0)\nos.chown('src/a.txt', 4711, 4711); print('REA' 'CHED')", varies: true},
		{name: "mknod of a device", line: "mknod src/null c 1 3 && echo x | tee src/null && echo REACHED", varies: true},
		{name: "a file handle, which goes by the path", python: `import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
h = ctypes.create_string_buffer(struct.pack('Ii', 128, 0) + bytes(128)); m = ctypes.c_int()
libc.name_to_handle_at(-100, b'docs/other.md', h, ctypes.byref(m), 0)
fd = libc.open_by_handle_at(os.open('.', 0), h, 2)
if fd >= 0: os.write(fd, b'x')`, varies: true},
		{name: "io_uring", python: "import ctypes\nlibc = ctypes.CDLL(None)\np = ctypes.create_string_buffer(120)\nif libc.syscall(425, 4, p) >= 0: print('REA' 'CHED')", varies: true},
	}
}
