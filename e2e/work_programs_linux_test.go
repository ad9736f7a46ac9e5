package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// programJobs are what compilers, package managers, test runners and databases do.
func programJobs() []job {
	const quiet = " --offline --no-audit --no-fund --loglevel=error"
	return []job{
		{
			name: "Go",
			files: map[string]string{
				".gitignore": "/bin/\n", "go.mod": "module example.com/shop\n\ngo 1.21\n\nreplace example.com/money => ./money\n", "money/go.mod": "module example.com/money\n\ngo 1.21\n",
				"money/money.go": "package money\n\nfunc Cents(n int) int { return 100 * n }\n", "main.go": "package main\n\nimport \"example.com/money\"\n\n//go:generate sh gen.sh\n\nfunc main() {\nprintln(Price(1))\n}\n\nfunc Price(n int) int { return money.Cents(n) }\n",
				"gen.sh": "rm -rf table; mkdir table; printf 'package table\\n\\nvar T = 1\\n' > table/t.go.new && mv table/t.go.new table/t.go\n", "main_test.go": "package main\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestPrice(t *testing.T) {\n\tif Price(3) != 300 {\n\t\tt.Error(Price(3))\n\t}\n\tif os.WriteFile(\"testdata.out\", []byte(\"x\"), 0o600) != nil {\n\t\tt.Fail()\n\t}\n}\n",
			},
			prepare: func(w *workspace) []string {
				return []string{"GOPROXY=off", "GOTOOLCHAIN=local", "GOFLAGS="}
			},
			ready: goCache,
			lines: []string{
				"go build ./... # fails", "go mod tidy", "go build ./... && go vet ./...", "go build -o bin/shop . && go build -o shop . && bin/shop", "go generate ./... && go generate ./...", "gofmt -w . && test -z \"$(gofmt -l .)\"", "go test -count=1 ./...",
				"go test -count=1 -coverprofile=cover.out .", "sed -i s/300/400/ main_test.go && go test . # fails", "rm -rf bin && mkdir bin && go build -o bin/ . && go clean", "go mod vendor && go build -mod=vendor ./... && rm -rf vendor",
			},
		},
		{
			name:    "npm",
			files:   map[string]string{".gitignore": "node_modules/\ndist/\n", "package.json": `{"name":"shop","version":"1.0.0","scripts":{"test":"node --test test/","build":"node build.js","clean":"rm -rf dist"}}` + "\n", "test/dep.test.js": "require('node:test')('dep', () => { require('assert').ok(require('dep') > 0); require('fs').writeFileSync('snapshot', 'x') })\n", "build.js": "const fs = require('fs'); fs.rmSync('dist', {recursive: true, force: true}); fs.mkdirSync('dist/a', {recursive: true}); fs.cpSync('test', 'dist/test', {recursive: true}); fs.writeFileSync('dist/out.js', String(require('dep')))\n"},
			prepare: tarballs,
			lines: []string{
				"npm install ./dep-1.tgz" + quiet, "npm test && npm run build", "rm -rf node_modules && npm ci" + quiet, "npm ci" + quiet, "npm install ./dep-2.tgz" + quiet, "npm run clean && npm run build && npm test", "rm -rf dist && mkdir dist && npm run build", "npm uninstall dep" + quiet, "npm test # fails",
			},
		},
		{
			name:    "vite",
			files:   map[string]string{".gitignore": "node_modules/\ndist/\n", "package.json": `{"name":"shop","version":"1.0.0","type":"module"}` + "\n", "index.html": "<script type=module src=/src/main.js></script>\n", "src/main.js": "import {a} from './a.js'; import './a.css'; document.title = a\n", "src/a.js": "export const a = 'built'\n", "src/a.css": "b { color: red }\n", "vite.config.js": "export default { logLevel: 'error', build: { sourcemap: true } }\n"},
			prepare: viteTools,
			lines:   []string{"node $HOME/packages/node_modules/vite/bin/vite.js build", "sed -i s/built/again/ src/a.js && node $HOME/packages/node_modules/vite/bin/vite.js build", "rm -rf dist && mkdir dist && node $HOME/packages/node_modules/vite/bin/vite.js build --outDir dist/sub"},
		},
		{
			name:    "Python",
			files:   map[string]string{".gitignore": ".venv/\n__pycache__/\n", "requirements.txt": "money\n", "shop/__init__.py": "", "shop/price.py": "import money\ndef price(n):\n    return money.cents(n)\n", "tests/__init__.py": "", "tests/test_price.py": "import tempfile, os, shutil, unittest\nfrom shop.price import price\n\n\nclass Price(unittest.TestCase):\n    def setUp(self):\n        self.dir = tempfile.mkdtemp(dir='.')\n\n    def tearDown(self):\n        shutil.rmtree(self.dir)\n\n    def test(self):\n        self.assertEqual(price(3), 300)\n        os.rename(self.dir, self.dir + 'x')\n        os.rename(self.dir + 'x', self.dir)\n"},
			prepare: wheels,
			lines: []string{
				"python3 -m venv --without-pip .venv", ".venv/bin/python -m pip install -q --disable-pip-version-check --no-index --find-links wheels money==1.2", ".venv/bin/python -m unittest discover -s tests -t .",
				".venv/bin/python -m pip install -q --disable-pip-version-check --no-index --find-links wheels money==1.3", "find . -name __pycache__ -prune -exec rm -rf {} +; .venv/bin/python -m unittest discover -s tests -t . # fails", "sed -i s/300/330.0/ tests/test_price.py && .venv/bin/python -m unittest discover -s tests -t .",
				".venv/bin/python -m pip uninstall -q -y money", "rm -rf .venv && python3 -m venv --without-pip .venv", "python3 -m compileall -q shop && rm -rf .venv",
			},
		},
		{
			name:  "make",
			files: map[string]string{".gitignore": "*.o\n/prog\n/build/\n", "a.c": "int f(void);\nint main(void) { return f(); }\n", "b.c": "int f(void) { return 0; }\n", "a.h": "", "Makefile": "all: prog build/stamp\nprog: a.o b.o\n\tcc -o $@ $^\n%.o: %.c a.h\n\tcc -c -o $@ $<\n\techo $@ >> log\nbuild/stamp: a.h\n\tmkdir -p build; echo stamped >> log; touch $@\nstamp: a.h\n\techo stamp >> log; touch $@\nclean:\n\trm -rf *.o prog build\n.PHONY: all clean\n"},
			lines: []string{
				"make && ./prog", "make && make clean", "make clean && make all", "make -s clean all", "make stamp", "make stamp", "sleep 0.02; touch a.h", "make stamp all", "make stamp all; touch b.c", "make", "rm b.o; make && ./prog", "make clean stamp; rm stamp; make stamp",
			},
		},
		{
			name: "sqlite",
			files: map[string]string{"db.py": "import sqlite3, sys\nwal = sys.argv[1] == 'wal'\nc = sqlite3.connect('data.db')\nc.execute('pragma journal_mode=' + sys.argv[1])\nc.execute('create table if not exists t(a, b)')\nc.executemany('insert into t values(?, ?)', [(i, 'x' * i) for i in range(100)])\nc.commit()\no = sqlite3.connect('data.db')\n" +
				"c.execute('update t set b=1 where a=5'); c.commit()\nassert o.execute('select b from t where a=5').fetchone()[0] == 1\nc.execute('delete from t where a=7'); c.rollback()\nprint(o.execute('select count(*) from t').fetchone())\no.close(); c.close()\n"},
			lines: []string{"python3 db.py delete > 1", "python3 db.py wal > 2", "python3 db.py wal > 3", "python3 db.py truncate > 4; rm -f data.db-journal", "python3 -c \"import sqlite3; c = sqlite3.connect('data.db'); c.execute('vacuum'); c.close()\"", "cp data.db copy.db && python3 db.py delete && rm data.db"},
		},
		{
			name: "watchers",
			files: map[string]string{
				"w/a.txt": "a\n", "w/sub/b.txt": "b\n",
				"watch.test.js": "const fs = require('fs'), test = require('node:test')\nconst seen = (path, act) => new Promise((ok, no) => { const late = setTimeout(() => no(new Error('nothing seen: ' + path)), 20000); const w = fs.watch(path, (e, f) => { clearTimeout(late); w.close(); ok(e + ' ' + f) }); act() })\n" +
					"test('a file that was there', () => seen('w/a.txt', () => fs.appendFileSync('w/a.txt', 'x')))\ntest('its directory', () => seen('w', () => fs.appendFileSync('w/a.txt', 'y')))\ntest('one that comes', () => seen('w/sub', () => fs.writeFileSync('w/sub/c.txt', 'c')))\ntest('renamed', () => seen('w/sub', () => fs.renameSync('w/sub/b.txt', 'w/sub/d.txt')))\ntest('removed', () => seen('w/sub', () => fs.unlinkSync('w/sub/d.txt')))\n" +
					"test('polled', () => new Promise(ok => { let n = 1; const again = setInterval(() => fs.utimesSync('w/a.txt', n, n++), 50); fs.watchFile('w/a.txt', {interval: 20}, () => { fs.unwatchFile('w/a.txt'); clearInterval(again); ok() }) }))\ntest('read on', () => { const f = fs.openSync('w/a.txt', 'r'); fs.appendFileSync('w/a.txt', 'end'); const b = Buffer.alloc(100); const n = fs.readSync(f, b); if (!b.toString('utf8', 0, n).endsWith('end')) throw new Error(b) })\n",
				"mapped.py": "import mmap, os\nf = open('w/a.txt', 'r+b'); m = mmap.mmap(f.fileno(), 0); m[0:1] = b'A'; m.flush(); m.close(); f.close()\nassert open('w/a.txt').read()[0] == 'A'\nimport fcntl\na = open('w/a.txt', 'a'); fcntl.flock(a, fcntl.LOCK_EX)\nb = open('w/a.txt')\ntry:\n    fcntl.flock(b, fcntl.LOCK_EX | fcntl.LOCK_NB); raise SystemExit('no lock')\nexcept BlockingIOError: pass\n" +
					"a.close()\nos.setxattr('w/a.txt', 'user.note', b'noted'); s = os.stat('w/a.txt'); open('w/a.txt', 'a').write('+'); assert os.stat('w/a.txt').st_ino == s.st_ino\n",
			},
			lines: []string{"node --test watch.test.js", "python3 mapped.py", "python3 -c \"import os; s = os.stat('w/a.txt').st_ino; os.chmod('w/a.txt', 0o600); assert os.stat('w/a.txt').st_ino == s\""},
		},
		{
			name:  "directories renamed in one step", // for which most programs, mv among them, can do without
			files: map[string]string{"old/a": "a\n", "r.py": "import os; os.rename('old', 'new')\n", "r.js": "require('fs').renameSync('new', 'old')\n", "fresh.py": "import os; os.mkdir('x'); open('x/y', 'w').close(); os.rename('x', 'z'); os.rename('z/y', 'z/w')\n"},
			again: true,
			lines: []string{"python3 r.py", "node r.js", "python3 fresh.py"},
		},
		{
			name: "git", direct: "git",
			files: map[string]string{"src/b.txt": "b\n", ".gitignore": "/out/\n"},
			lines: []string{"echo x >> src/a.txt; git add src && git commit -qm one", "git status --short -- src > st; git diff HEAD~1 > d.diff", "git mv src/b.txt src/c.txt && git commit -qm moved", "git checkout -q -b other && echo y > src/d.txt && git add src && git commit -qm other", "git checkout -q - && git merge -q --no-edit other", "git stash list; echo z >> src/a.txt; git stash -q", "git stash pop -q", "git checkout -q -- src/a.txt", "git log --oneline > log; git rm -q src/d.txt", "git reset -q --hard"},
		},
	}
}

// tarballs are two versions of a package, and the second has another layout.
func tarballs(w *workspace) []string {
	for _, v := range []string{"1", "2"} {
		at := &workspace{t: w.t, dir: w.t.TempDir()}
		at.write("package/package.json", `{"name":"dep","version":"`+v+`.0.0","main":"lib/`+v+`/i.js","bin":"run.js"}`)
		at.write("package/lib/"+v+"/i.js", "module.exports = "+v+"\n")
		at.write("package/run.js", "#!/usr/bin/env node\n")
		out, err := exec.Command("tar", "-C", at.dir, "--sort=name", "--mtime=2020-01-01", "--owner=0", "--group=0", "--numeric-owner", "-cf", w.path("dep-"+v+".tar"), "package").CombinedOutput()
		check.Must(w.t, err == nil, "%v\n%s", err, out)
		out, err = exec.Command("gzip", "-n", "-S", ".gz", w.path("dep-"+v+".tar")).CombinedOutput()
		check.Must(w.t, err == nil, "%v\n%s", err, out)
		check.OK(w.t, os.Rename(w.path("dep-"+v+".tar.gz"), w.path("dep-"+v+".tgz")))
	}
	return nil
}

// viteTools copies Vite and what it needs to where commands can read it, once.
func viteTools(w *workspace) []string {
	to := filepath.Join(w.home, "packages/node_modules")
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	check.OK(w.t, os.MkdirAll(to, 0o755))
	for _, name := range []string{"vite", "rolldown", "@rolldown", "@oxc-project", "lightningcss*", "postcss", "nanoid", "picomatch", "tinyglobby", "fdir", "picocolors", "source-map-js", "detect-libc"} {
		found, err := filepath.Glob(filepath.Join(clients, "node_modules", name))
		check.OK(w.t, err)
		if len(found) == 0 {
			check.Must(w.t, os.Getenv("CI") == "", "%s is not there: npm --prefix e2e/clients ci", name)
			w.t.Skip("npm --prefix e2e/clients ci")
		}
		out, err := exec.Command("cp", append(append([]string{"-a"}, found...), to)...).CombinedOutput()
		check.Must(w.t, err == nil, "%v\n%s", err, out)
	}
	return nil
}

// wheels are two versions of a package, a module and a package of two, and the pip that environments are given.
func wheels(w *workspace) []string {
	env := unpackedPip(w)
	w.write("wheels/.keep", "")
	out, err := exec.Command("python3", "-c", `import sys, zipfile
for version, files in ("1.2", {"money.py": "def cents(n):\n    return 100 * n\n"}), ("1.3", {"money/__init__.py": "from .other import cents\n", "money/other.py": "def cents(n):\n    return 110 * n\n"}):
    info = f"money-{version}.dist-info/"
    files[info + "METADATA"] = f"Metadata-Version: 2.1\nName: money\nVersion: {version}\n"
    files[info + "WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[info + "RECORD"] = "".join(name + ",,\n" for name in [*files, info + "RECORD"])
    with zipfile.ZipFile(f"{sys.argv[1]}/money-{version}-py3-none-any.whl", "w") as wheel:
        for name, text in files.items():
            wheel.writestr(zipfile.ZipInfo(name), text)`, w.path("wheels")).CombinedOutput()
	check.Must(w.t, err == nil, "%v\n%s", err, out)
	return env
}

// unpackedPip is pip where commands can read it, once. Of what is in a wheel Python keeps nothing compiled: a start takes two seconds more.
func unpackedPip(w *workspace) []string {
	to := filepath.Join(w.home, "packages/pip")
	if _, err := os.Stat(to); err != nil {
		wheel, _ := strings.CutPrefix(pythonPackages(w.t, w.t.TempDir())[0], "PYTHONPATH=")
		out, err := exec.Command("python3", "-m", "zipfile", "-e", wheel, to).CombinedOutput()
		check.Must(w.t, err == nil, "%v\n%s", err, out)
	}
	return []string{"PYTHONPATH=" + to}
}
