package corpus_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const denied = "echo x > docs/other.md"

// shellAttacks write by what the shell itself does, and by the programs that
// it is used with.
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
	return func(w *world) { check(w.t, os.Link(filepath.Join(w.top, file), filepath.Join(w.top, name))) }
}

// package300 puts a directory into the scope as a package manager does that
// links what it has in a store.
func package300(w *world) {
	w.put("ws/src/pkg/readme", "x\n")
	for i := range 300 {
		name := fmt.Sprint("f", i)
		w.put("home/outside/store/"+name, name)
		check(w.t, os.Link(filepath.Join(w.home, "outside/store", name), filepath.Join(w.ws, "src/pkg", name)))
	}
}

// readsFIFO has the server read what a command has made of a file.
func readsFIFO(w *world) {
	w.t.Helper()
	a := w.server.call("read_file", args{"session": w.sessions["SRC"], "path": "src/a.txt"})
	if a.text("error_type") != "NOT_A_REGULAR_FILE" {
		w.t.Errorf("read_file of a FIFO: %v", a.Fields)
	}
}
