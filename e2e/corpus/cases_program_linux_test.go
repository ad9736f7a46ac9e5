package corpus_test

import "strings"

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
	if a.IsError {
		w.t.Fatal(a.Fields)
	}
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
