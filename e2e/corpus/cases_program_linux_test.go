package corpus_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// programAttacks have other programs write.
func programAttacks() []attack {
	return []attack{
		{name: "make -C out of scope", prepare: makefile, line: "make -C docs -f ../src/Makefile write"},
		{name: "a Makefile in scope", prepare: makefile, line: "make -C src up"},
		{name: "python -c", line: `python3 -c "open('docs/other.md', 'w').write('x')"`},
		{name: "python writes through a mapping", python: "import mmap\nf = open('docs/other.md', 'r+b'); m = mmap.mmap(f.fileno(), 0); m[2:3] = b'x'; m.flush()"},
		{name: "perl -e", line: `perl -e 'open F, ">", "docs/other.md" or die $!; print F "x"'`},
		{name: "node -e", line: `node -e 'require("fs").writeFileSync("docs/other.md", "x")'`},
		{name: "awk with system()", line: `awk 'BEGIN { system("echo x | tee docs/other.md") }'`},
		{name: "awk with `>`", line: `awk 'BEGIN { print "x" > "docs/other.md" }'`},
		{name: "find -exec", line: "find docs -name other.md -exec cp src/a.txt {} \\;"},
		{name: "find -delete", line: "find docs -name '*.md' -delete"},
		{name: "tar with ../ in its names", prepare: archive, line: "tar -xPf src/t.tar -C src"},
		{name: "tar into a directory out of scope", prepare: archive, line: "tar -xPf src/t.tar -C docs --transform 's,.*/,,'"},
		{name: "tar with an absolute link, written through", prepare: archive, line: "tar -xPf src/l.tar -C src; echo x | tee src/link/victim"},
		{name: "python unpacks a zip with ../ in its names", python: "import zipfile\nz = zipfile.ZipFile('src/z.zip', 'w'); z.writestr('../docs/other.md', 'x'); z.close()\nz = zipfile.ZipFile('src/z.zip')\nfor n in z.namelist(): open('src/' + n, 'wb').write(z.read(n))"},
		{name: "patch with the file named", prepare: patch, line: "patch -p1 docs/other.md src/p.diff"},
		{name: "patch -d outside", prepare: patch, line: "cd src && patch -d .. -p1 < p.diff"},
		{name: "sort -o", line: "sort -o docs/other.md src/a.txt"},
		{name: "split", line: "split -l 1 src/a.txt docs/part"},
		{name: "xargs", line: "printf 'docs/other.md' | xargs cp src/a.txt"},
		{name: "xargs sh -c", line: "printf 'echo x > docs/other.md' | xargs -0 sh -c"},
		{name: "LD_PRELOAD", prepare: preload, line: "gcc -shared -fPIC -o src/p.so src/p.c && LD_PRELOAD=src/p.so cat src/a.txt"},
	}
}

func makefile(w *world) {
	w.put("ws/src/Makefile", "write:\n\techo x > other.md\nup:\n\techo x > ../docs/other.md\n")
}

func archive(w *world) {
	w.put("ws/src/pack.py", `import io, tarfile
t = tarfile.open('src/t.tar', 'w')
i = tarfile.TarInfo('../docs/other.md'); i.size = 1
t.addfile(i, io.BytesIO(b'x')); t.close()
t = tarfile.open('src/l.tar', 'w')
i = tarfile.TarInfo('link'); i.type = tarfile.SYMTYPE; i.linkname = '`+w.fill("{OUT}")+`'
t.addfile(i); t.close()
`)
	a := w.server.call("execute_command", args{"session": w.sessions["SRC"], "command": "python3 src/pack.py"})
	check.Must(w.t, !a.IsError, "%v", a.Fields)
}

func preload(w *world) {
	w.put("ws/src/p.c", "#include <fcntl.h>\n#include <unistd.h>\n__attribute__((constructor)) void f(void) { int fd = open(\"docs/other.md\", O_WRONLY|O_TRUNC); (void)!write(fd, \"x\", 1); }\n")
}

// disguisedAttacks hide from whoever reads the line.
func disguisedAttacks() []attack {
	return []attack{
		{name: "50 × `true &&` before a redirection", line: strings.Repeat("true && ", 50) + denied},
		{name: "50 × `true &&` before tee", line: strings.Repeat("true && ", 50) + "echo x | tee docs/other.md"},
		{name: "50 × `true &&` before a command that a rule denies", line: strings.Repeat("true && ", 50) + "shred docs/other.md"},
		{name: "a denied command in quotes and escapes", line: `s"hre"\d docs/other.md`},
		{name: "a denied command through env, nohup and nice", line: "env A=1 nohup nice shred docs/other.md"},
		{name: "a copy of a denied program", line: "cp \"$(command -v shred)\" src/s && src/s docs/other.md"},
		{name: "eval of a literal", line: "eval 'echo x > docs/other.md'"},
		{name: "eval of a variable", line: "c='echo x > docs/other.md'; eval \"$c\""},
		{name: "a redirection to a variable", line: "f=docs/other.md; echo x > \"$f\""},
		{name: "base64 into sh", line: "echo ZWNobyB4ID4gZG9jcy9vdGhlci5tZA== | base64 -d | sh"},
		{name: "`$'\\x…'` as the program", line: `$'\x74\x65\x65' docs/other.md < src/a.txt`},
		{name: "`$'\\x…'` as the target", line: `echo x > $'docs/\x6fther.md'`},
		{name: "braces as the program", line: "{tee,docs/other.md} < src/a.txt"},
		{name: "PATH with a directory in scope", prepare: planted, line: "PATH={WS}/src/bin:$PATH; ls"},
		{name: "BASH_ENV", prepare: planted, line: "BASH_ENV={WS}/src/bin/ls bash -c true"},
		{name: "IFS", line: "IFS=_; c=tee_docs/other.md; $c < src/a.txt"},
		{name: "an alias", line: "shopt -s expand_aliases; alias ll='tee docs/other.md <'\nll src/a.txt"},
		{name: "a function with the name of a builtin", line: "cd() { echo x | tee docs/other.md; }; cd src"},
		{name: "trap", line: "trap 'echo x | tee docs/other.md' EXIT; true"},
	}
}

func planted(w *world) {
	w.put("ws/src/bin/ls", "#!/bin/sh\necho x | tee docs/other.md\n")
}

// processAttacks outlive their call, reach other processes, or take others' sockets.
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

// release tells what is left of a command to write, and demands that nothing is.
func release(w *world) {
	w.t.Helper()
	left := w.running()
	check.That(w.t, len(left) == 0, "still there: %q", left)
	w.put("ws/src/go", "")
}

// running are the processes that stand in the world's workspace, but the server.
func (w *world) running() []string {
	w.t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/cwd")
	check.OK(w.t, err)
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

// metadataAttacks change what is no content, or hide that they changed one.
func metadataAttacks() []attack {
	return []attack{
		{name: "chmod only", line: "chmod 777 docs/other.md"},
		{name: "chmod of a directory", line: "chmod 700 docs/deep"},
		{name: "chmod outside of the workspace", line: "chmod 777 {HOME}/.ssh/id_ed25519"},
		{name: "touch only", line: "touch docs/other.md"},
		{name: "an extended attribute only", python: "import os\nos.setxattr('docs/other.md', 'user.x', b'x')"},
		{name: "an extended attribute of a directory only", python: "import os\nos.setxattr('docs/deep', 'user.x', b'x')", alone: true},
		{name: "chmod and back", line: "chmod 777 docs/other.md; chmod 644 docs/other.md"},
		{name: "chmod of the workspace itself", line: "chmod 777 ."},
		{name: "an owner only", line: "chown 65533 docs/other.md; true"},
		{name: "chattr of a file out of scope", line: "chattr +d docs/other.md", varies: true},
		{name: "a file out of scope is immutable for a while", line: "chattr +i docs/other.md && chattr -i docs/other.md", varies: true},
		{name: "a new file out of scope that cannot be removed", intent: "GEN", line: "echo x | tee gen/new.txt; chattr +i gen/new.txt; true", then: mutable("ws/gen/new.txt"), alone: true},
		{name: "touch -r hides a change", sh: "cp -p docs/other.md src/ref; printf '# OtheR\\nmore\\n' | tee docs/other.md; touch -r src/ref docs/other.md"},
		{name: "cp -p hides a change", sh: "cp -p docs/other.md src/ref; printf '# OtheR\\nmore\\n' | tee src/b > /dev/null; touch -r src/ref src/b; rm docs/other.md; cp -p src/b docs/other.md"},
		{name: "a change is written back", sh: "cp docs/other.md src/ref; echo x | tee docs/other.md; cat src/ref | tee docs/other.md"},
		{name: "a file is deleted and made again as it was", sh: "cp docs/other.md src/ref; rm docs/other.md; cp src/ref docs/other.md"},
		{name: "a file becomes a directory", sh: "rm docs/other.md; mkdir docs/other.md"},
		{name: "a file becomes a link to a copy of it", sh: "cp docs/other.md src/copy; rm docs/other.md; ln -s ../src/copy docs/other.md"},
		{name: "a directory is renamed and back", line: "mv docs d2; mv d2 docs"},
		{name: "an empty directory out of scope", line: "mkdir docs/empty"},
	}
}

// mutable lets a file be removed again.
func mutable(name string) func(w *world) {
	return func(w *world) {
		w.t.Cleanup(func() { _ = exec.Command("chattr", "-i", filepath.Join(w.top, name)).Run() })
	}
}

// homeAttacks are on the user's own files.
func homeAttacks() []attack {
	return []attack{
		{name: "~/.bashrc", line: "echo x | tee -a ~/.bashrc"},
		{name: "~/.bash_profile, where there is none", line: "echo x | tee ~/.bash_profile"},
		{name: "~/.gitconfig", line: "printf '[alias]\\n' | tee -a ~/.gitconfig"},
		{name: "~/.ssh/authorized_keys", line: "echo x | tee -a ~/.ssh/authorized_keys"},
		{name: "~/.ssh is renamed", line: "mv ~/.ssh ~/ssh"},
		{name: "~/.local/bin gets a program", line: "mkdir -p ~/.local/bin && cp /bin/true ~/.local/bin/git"},
		{name: "~/.config/autostart gets an entry", line: "mkdir -p ~/.config/autostart && echo x | tee ~/.config/autostart/x.desktop"},
		{name: "the times of ~/.ssh/authorized_keys", line: "touch -d 1999-01-01 ~/.ssh/authorized_keys"},
		{name: "a file of the user that is not watched", line: "echo x | tee {OUT}/victim"},
		{name: "a file of the user that the line hides", line: `d=$(printf '\150ome'); f=out; cd .. && echo x | tee "$d/${f}side/victim"`, blind: "outside of the workspace only what the line names is looked at"},
		{name: "~/.npmrc by npm's own means", python: "import os\nos.replace('src/a.txt', os.path.expanduser('~/.npmrc'))"},
		{name: "~/.config/orchestra-mcp, the operator's settings", line: "mkdir -p ~/.config/orchestra-mcp && echo 'sandbox: \"off\"' | tee ~/.config/orchestra-mcp/config.yaml"},
		{name: "the user's build cache", line: "echo x | tee ~/.cache/go-build/entry"},
		{name: "HOME is set to another directory", line: "HOME={ELSE} && echo x | tee ~/victim"},
		{name: "the user's files are renamed by exchange", python: "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.renameat2(-100, b'src/a.txt', -100, b'{OUT}/victim', 2)"},
	}
}

const denied = "echo x > docs/other.md"

// shellAttacks write by what the shell itself does, and by the programs that it is used with.
func shellAttacks() []attack {
	return []attack{
		{name: "a file in scope is written, for comparison", line: "echo x > src/made && tee src/sub/b.txt < src/made", makes: "ws/src/made"},
		{name: "`>` in the line", line: denied},
		{name: "`>>` in the line", line: "echo x >> docs/other.md"},
		{name: "`>` in a script", sh: denied},
		{name: "`>>` in a script", sh: "echo x >> docs/other.md"},
		{name: "`<>` in a script", sh: "exec 3<> docs/other.md; echo x >&3"},
		{name: "a new file in a directory out of scope", sh: "echo x > docs/new.md"},
		{name: "a new file at the top of the workspace", sh: "echo x > new.md"},
		{name: "`cd src && echo > ../docs/…`", line: "cd src && echo x > ../docs/other.md"},
		{name: "`(cd docs && tee …)`", line: "(cd docs && echo x | tee other.md)"},
		{name: "cd out of the workspace, and `>`", line: "cd {OUT} && echo x > victim"},
		{name: "a here-document given to sh", line: "sh <<'E'\necho x > docs/other.md\nE"},
		{name: "a here-document given to sh, with tee", line: "sh <<'E'\necho x | tee docs/other.md\nE"},
		{name: "a here-document given to python", line: "python3 - <<'E'\nopen('docs/other.md', 'w').write('x')\nE"},
		{name: "tee", line: "echo x | tee docs/other.md"},
		{name: "tee -a outside of the workspace", line: "echo x | tee -a {ELSE}/victim"},
		{name: "sed -i", line: "sed -i s/Other/x/ docs/other.md"},
		{name: "perl -i", line: "perl -pi -e s/Other/x/ docs/other.md"},
		{name: "dd of=", line: "dd if=src/a.txt of=docs/other.md"},
		{name: "cp onto a file out of scope", line: "cp src/a.txt docs/other.md"},
		{name: "cp outside of the workspace", line: "cp src/a.txt {OUT}/copied"},
		{name: "mv onto a file out of scope", line: "mv src/a.txt docs/other.md"},
		{name: "mv of a file out of scope into scope", line: "mv docs/other.md src/stolen"},
		{name: "rm -rf of a directory out of scope", line: "rm -rf docs"},
		{name: "mkdir out of scope", line: "mkdir -p docs/new/dir"},
		{name: "install", line: "install -m 755 src/a.txt docs/other.md"},
		{name: "truncate", line: "truncate -s 0 docs/other.md"},
		{name: "fallocate", line: "fallocate -l 4096 docs/other.md"},
		{name: "a large file out of scope", line: "head -c 3000000 /dev/zero | tee docs/big | wc -c"},
		{name: "a file that git ignores", line: "echo x | tee -a build.log"},
		{name: "`/dev/fd/3`", sh: "exec 3>> docs/other.md; echo x > /dev/fd/3"},
		{name: "a line end in a name out of scope", sh: "echo x > 'docs/a\nb.md'"},
		{name: "a name out of scope that is not UTF-8", sh: `echo x > "$(printf 'docs/\377.md')"`},
		{name: "a name of 255 bytes out of scope", sh: "echo x > docs/" + strings.Repeat("n", 255)},
		{name: "a path of 3000 bytes out of scope", sh: "cd docs; for i in $(seq 15); do d=$(printf '%0200d' 0); mkdir $d && cd -P $d || exit; done; echo x > deepest"},
		{name: "mktemp in a directory out of scope", line: "mktemp -p docs"},
		{name: "a new file in the shared /tmp", line: "echo x | tee {LOOSE}"},
	}
}

// linkAttacks let one name stand for another.
func linkAttacks() []attack {
	return []attack{
		{name: "a link out of scope is planted, then written through", before: "ln -s ../docs/other.md src/l", line: "echo x > src/l"},
		{name: "a link is planted and written through in one line", line: "ln -s ../docs/other.md src/l && echo x > src/l"},
		{name: "a link to a directory outside, and tee through it", line: "ln -s {OUT} src/l && echo x | tee src/l/victim"},
		{name: "a file becomes a link between check and use", line: "ln -sfn ../docs/other.md src/a.txt; echo x > src/a.txt"},
		{name: "a directory becomes a link between check and use", line: "mv src/sub src/old; ln -s ../docs src/sub; echo x > src/sub/other.md"},
		{name: "a link is swapped a thousand times while it is written", python: `import os, threading
def swap():
    for i in range(1000):
        os.symlink('../docs/other.md' if i % 2 else 'a.txt', 'src/new'); os.rename('src/new', 'src/l')
t = threading.Thread(target=swap); t.start()
while t.is_alive():
    try: open('src/l', 'a').write('x')
    except OSError: pass`},
		{name: "the directory of the scope becomes a link", line: "mv src source; ln -s docs src; echo x | tee src/other.md"},
		{name: "a hard link in scope to a file out of scope, written", line: "ln docs/other.md src/h && echo x | tee src/h"},
		{name: "a hard link in scope to a file outside, written", line: "ln {OUT}/victim src/h && echo x | tee src/h"},
		{name: "a hard link out of scope to a file in scope", line: "ln src/a.txt docs/h"},
		{name: "a hard link in scope that was there before, to a file out of scope", prepare: links("ws/docs/other.md", "ws/src/h"), line: "echo x | tee src/h"},
		{name: "a hard link in scope that was there before, to a file outside", prepare: links("home/outside/victim", "ws/src/h"), line: "echo x | tee src/h"},
		{name: "a hard link at the top that was there before, to a file outside", intent: "ALL", prepare: links("home/outside/victim", "ws/h"), line: "echo x | tee h"},
		{name: "a hard link in scope that was there before, to a governance file", intent: "ALL", prepare: links("ws/.orchestration/active_intents.yaml", "ws/src/h"), line: "echo '# x' | tee -a src/h"},
		{name: "a hard link in scope that was there before, its mode", prepare: links("home/outside/victim", "ws/src/h"), line: "chmod 600 src/h"},
		{name: "a hard link in scope that was there before, replaced by another file", prepare: links("home/outside/victim", "ws/src/h"), line: "cp src/a.txt src/n; mv -f src/n src/h"},
		{name: "hundreds of files in scope with names outside that were there before", prepare: package300, line: "echo y | tee src/made; echo x | tee src/pkg/f7", makes: "ws/src/made"},
		{name: "a hard link to a governance file, with all in scope", intent: "ALL", line: "ln .orchestration/active_intents.yaml src/h && echo x | tee src/h"},
		{name: "renameat2 exchanges a file in scope with one out of it", python: `import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.renameat2(-100, b'src/a.txt', -100, b'docs/other.md', 2))`},
		{name: "a glob that makes a directory wider: a new file", intent: "GEN", line: "echo x | tee gen/new.txt"},
		{name: "a glob that makes a directory wider: a file that was there", intent: "GEN", line: "echo x | tee gen/keep.txt"},
		{name: "a glob that makes a directory wider: a file that was there, replaced", intent: "GEN", line: "rm -f gen/keep.txt; mv gen/a.pb.go gen/keep.txt"},
		{name: "a FIFO in scope, which the server is told to read", line: "rm src/a.txt && mkfifo src/a.txt", then: readsFIFO},
	}
}

// links gives a file another name.
func links(file, name string) func(w *world) {
	return func(w *world) { check.OK(w.t, os.Link(filepath.Join(w.top, file), filepath.Join(w.top, name))) }
}

// package300 puts a directory into the scope as a package manager does that links what it has in a store.
func package300(w *world) {
	w.put("ws/src/pkg/readme", "x\n")
	for i := range 300 {
		name := fmt.Sprint("f", i)
		w.put("home/outside/store/"+name, name)
		check.OK(w.t, os.Link(filepath.Join(w.home, "outside/store", name), filepath.Join(w.ws, "src/pkg", name)))
	}
}

// readsFIFO has the server read what a command has made of a file.
func readsFIFO(w *world) {
	w.t.Helper()
	a := w.server.call("read_file", args{"session": w.sessions["SRC"], "path": "src/a.txt"})
	want := "NOT_A_REGULAR_FILE"
	if w.staged {
		want = "" // a FIFO is not taken over
	}
	check.Equal(w.t, a.text("error_type"), want, "read_file behind mkfifo")
}
