package e2e_test

import (
	"maps"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// fileJobs are what the tools do to files that everybody has.
func fileJobs() []job {
	tree := map[string]string{
		"src/a.txt": "one\ntwo\nthree\n", "src/sub/b.txt": "b\n", "src/sub/deep/c.txt": "c\n", "src/run.sh": "#!/bin/sh\necho ran\n",
		"old/x/1": "1\n", "old/x/2": "2\n", "old/y": "y\n", ".gitignore": "/build/\n/dist/\n*.o\n", "build.keep": "",
	}
	const hard = "another name of a file that was there is a copy"
	jobs := []job{
		{name: "moves of directories", lines: []string{
			"mv old new", "mv new/x src/sub/moved && rmdir new 2>/dev/null; ls new", "mv src/sub other; mv other src/sub", "mkdir -p a/b && mv src/sub a/b/ && mv a/b/sub src/sub",
			"rm -rf a old new; mkdir old; echo fresh > old/x",
		}},
		{name: "directories made anew", lines: []string{
			"rm -rf build && mkdir build && echo 1 > build/o", "rm -rf build && mkdir build && echo 2 > build/p", "rm -rf old && mkdir old", "rm -rf src/sub && mkdir -p src/sub/deep && echo new > src/sub/deep/c.txt",
			"rm -r src/sub && echo file | tee src/sub", "rm src/sub && mkdir src/sub", "rmdir src/sub", "rm -rf build old",
		}},
		{name: "copies and archives", lines: []string{
			"cp -a src copy", "cp -r old copy/old && cp -p src/run.sh copy/run2.sh", "tar cf all.tar src old", "mkdir out && tar xf all.tar -C out", "tar xf all.tar && rm all.tar",
			"cd src && cp -al sub hard", "cp --sparse=always src/a.txt sparse.txt; cp --reflink=auto src/a.txt ref.txt", "install -m 700 -D src/run.sh bin/tool/run",
		}, apart: map[string]string{"src/hard/b.txt": hard, "src/hard/deep/c.txt": hard, "src/sub/b.txt": hard, "src/sub/deep/c.txt": hard}},
		{name: "links", lines: []string{
			"ln -s a.txt src/l && ln -s ../old src/d && ln -s /nowhere dangling", "ln src/a.txt src/hard.txt", "ln -sfn sub src/d", "echo new > n1 && ln n1 n2 && ln n1 src/n3", "cp -P src/l src/l2; cp -L src/l src/l3",
			"mv dangling away; rm src/l; readlink away", "rm n1",
		}, apart: map[string]string{"src/a.txt": hard, "src/hard.txt": hard}},
		{name: "permissions", again: true, lines: []string{
			"chmod -R go-rwx src", "chmod +x src/a.txt", "chmod -R u=rwX,go=rX src old", "chmod 700 old; chmod 711 src", "umask 077; echo x > private; mkdir pdir; echo y > pdir/f",
			"mkdir ro; echo x > ro/f; chmod 555 ro; chmod 444 ro/f", "chmod a-w src/a.txt && mv src/a.txt src/b.txt", "mv src/b.txt src/a.txt", "chmod 400 src/run.sh", "chmod u+w ro", "echo y > ro/f2; rm -r ro",
		}},
		{name: "directories made writable for a moment", again: true, lines: []string{
			"mkdir -p ro/in; echo x > ro/f; echo y > ro/in/g; chmod -R a-w ro", "chmod u+w ro && echo z > ro/g && chmod u-w ro", "chmod -R u+w ro && rm -r ro", "chmod -R a-w old", "chmod -R u+w old", "chmod 0 src/run.sh", "chmod 600 src/run.sh",
			"mkdir -p build/ro && echo x > build/ro/f && chmod 555 build/ro", "chmod -R u+w build && rm -rf build",
		}},
		{name: "build output made read-only", intent: "INT-001", lines: []string{
			"mkdir -p dist/ro && echo x | tee dist/ro/f && chmod 555 dist/ro", "cat dist/ro/f", "chmod -R u+w dist && rm -rf dist/ro", "mkdir dist/ro; echo 1 | tee dist/ro/f; chmod 555 dist/ro",
			"chmod -R u+w dist; echo 2 | tee dist/ro/f; chmod 555 dist/ro", "chmod -R u+w dist && rm -rf dist",
		}},
		{name: "found and deleted", lines: []string{
			"find . -name '*.txt' -path './src/*' -newer .gitignore | wc -l", "find old -type f -delete", "find old -depth -type d -empty -delete", "find src -name '*.txt' -exec sed -i s/one/1/ {} +", "find src -type f | xargs touch",
		}},
		{name: "replaced", lines: []string{
			"t=$(mktemp) && sed s/two/2/ src/a.txt > $t && mv $t src/a.txt", "t=$(mktemp ./src/XXXXXX) && sort -r src/a.txt > $t && mv $t src/a.txt", "sed -i.bak s/three/3/ src/a.txt",
			"perl -pi -e s/1/one/ src/a.txt 2>/dev/null || sed -i s/1/one/ src/a.txt", "cp src/a.txt src/a.new && mv -f src/a.new src/a.txt", "awk '{print NR, $0}' src/a.txt > src/num && mv src/num src/a.txt", "printf x | tee -a src/a.txt src/b.txt",
		}},
		{name: "blocks and holes", lines: []string{
			"dd if=/dev/zero of=zeros bs=4096 count=16 status=none", "dd if=/dev/zero of=zeros bs=1 count=1 seek=100 conv=notrunc status=none; printf Z | dd of=zeros bs=1 seek=200 conv=notrunc status=none", "truncate -s 1M holes && printf end >> holes",
			"printf mid | dd of=holes bs=1 seek=500000 conv=notrunc status=none", "truncate -s 5 src/a.txt", ": > src/run.sh", "fallocate -l 64K room", "cp holes holes2; truncate -s 0 holes",
		}},
		{name: "patches", lines: []string{
			"printf -- '--- a/src/a.txt\\n+++ b/src/a.txt\\n@@ -1,3 +1,3 @@\\n one\\n-two\\n+2\\n three\\n' > p.diff && patch -p1 < p.diff", "patch -R -p1 < p.diff", "patch -p1 < p.diff && patch -p1 -N < p.diff # fails",
			"diff --label a --label b -u src/a.txt src/run.sh > q.diff # fails", "rm -f src/a.txt.rej src/a.txt.orig",
		}},
		{name: "scripts with jobs", lines: []string{
			"trap 'rm -f lock; echo left >> log' EXIT; echo $$ > lock; test -s lock", "for i in 1 2 3 4 5 6 7 8; do (echo $i > part.$i) & done; wait; cat part.* > whole && rm part.*", "(sleep 0.3; echo late >> log) & wait",
			"trap 'echo caught >> log; exit 4' TERM; (sleep 0.2; kill -TERM $$) & sleep 5 & wait $! # fails", "sh -c 'echo before > left; exit 3' # fails", "set -e; echo half > half; false; echo never > never # fails",
			"echo bg > bg & echo done > fg; wait", "mkfifo pipe && (echo through > pipe &) && cat pipe > got && rm pipe", "(exec 9> lockfile; flock -n 9 && echo locked > held); rm lockfile", "exec 3>> log; echo three >&3; exec 3>&-; exec 4< src/a.txt; read x <&4; echo $x > read",
			"timeout 2 sh -c 'echo t > timed; sleep 9' # fails",
		}},
		{name: "appended while it is read", lines: []string{
			"tail -n +1 -f src/a.txt > tailed & sleep 0.3; echo four >> src/a.txt; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do grep -q four tailed && break; sleep 0.2; done; kill $!; grep -c four tailed",
			"exec 5< src/sub/b.txt; echo more >> src/sub/b.txt; cat <&5 > both", "(while read l; do echo $l; done) < src/a.txt > copied",
		}},
		{name: "in scope only", intent: "INT-001", lines: []string{
			"cd src && mv sub moved && mkdir sub && echo x > sub/x", "cp -a src/moved src/again && rm -r src/moved", "cd $(printf docs) && echo x > no.md # fails", "echo y > src/y; touch src/a.txt; chmod 600 src/run.sh", "rm -rf src/sub src/again", "mv src/y $(printf docs) # fails",
			"rm -rf $(printf old) # fails",
		}},
	}
	for i := range jobs {
		jobs[i].files, jobs[i].ordinary = maps.Clone(tree), true
		if jobs[i].name == "build output made read-only" {
			jobs[i].files["package.json"] = "{}\n"
		}
	}
	if check.Long() {
		for _, j := range slices.Clone(jobs) {
			j.name, j.ordinary = j.name+" as whoever runs this", false
			jobs = append(jobs, j)
		}
	}
	return jobs
}
