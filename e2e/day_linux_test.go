package e2e_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// project is what somebody has before the first agent comes: a small tree, and a dependency that it lacks.
type project struct {
	name  string
	files map[string]string
	// packages makes the dependency below a directory, and returns the environment that finds it.
	packages func(t *testing.T, dir string) []string
	// source has a line that the agent changes: before becomes after, and that needs the dependency.
	source, before, after string
	// install and test are run by the agent. PACKAGES is the directory of the dependency.
	install, test string
	// warm, if there is one, spares the test work that is not the project's own.
	warm func(*workspace)
	// gains is what git shows of the installation, as in git status.
	gains []string
	// other is a second source, with a line "one"; it is changed in the second work tree.
	other string
}

func projects() []project {
	return []project{
		{
			name: "Node",
			files: map[string]string{
				".gitignore": "node_modules/\n", "README.md": "# Shop\n",
				"package.json": `{"name": "shop", "version": "1.0.0", "scripts": {"test": "node test/price.js"}}` + "\n",
				"src/price.js": "// In cents.\nexports.price = (dollars) => dollars\n", "src/other.js": "// one\n",
				"test/price.js": "require('assert').equal(require('../src/price').price(3), 300)\n",
			},
			packages: nodePackages,
			source:   "src/price.js", before: "=> dollars", after: "=> require('money').cents(dollars)",
			install: "npm install PACKAGES/money-1.2.0.tgz --offline --no-audit --no-fund --loglevel=error",
			gains:   []string{"M package.json", "?? package-lock.json"},
			test:    "npm test", other: "src/other.js",
		},
		{
			name: "Python",
			files: map[string]string{
				".gitignore": ".venv/\n__pycache__/\n", "README.md": "# Shop\n", "requirements.txt": "money==1.2\n",
				"shop/__init__.py": "", "shop/price.py": "# In cents.\ndef price(dollars):\n    return dollars\n", "shop/other.py": "# one\n",
				"tests/__init__.py": "", "tests/test_price.py": "import unittest\nfrom shop.price import price\n\n\nclass Price(unittest.TestCase):\n    def test(self):\n        self.assertEqual(price(3), 300)\n",
			},
			packages: pythonPackages,
			source:   "shop/price.py", before: "    return dollars", after: "    import money\n    return money.cents(dollars)",
			install: "python3 -m venv --without-pip .venv && .venv/bin/python -m pip install --disable-pip-version-check --no-index --find-links PACKAGES -r requirements.txt",
			test:    ".venv/bin/python -m unittest discover -s tests -t .", other: "shop/other.py",
		},
		{
			name: "Go",
			files: map[string]string{
				".gitignore": "/bin/\n", "README.md": "# Shop\n", "go.mod": "module example.com/shop\n\ngo 1.21\n",
				"price.go": "package shop\n\n// Price is in cents.\nfunc Price(dollars int) int { return dollars }\n", "other.go": "package shop\n\n// one\n",
				"price_test.go": "package shop\n\nimport \"testing\"\n\nfunc TestPrice(t *testing.T) {\n\tif Price(3) != 300 {\n\t\tt.Error(Price(3))\n\t}\n}\n",
			},
			packages: goPackages,
			source:   "price.go", before: "package shop\n\n// Price is in cents.\nfunc Price(dollars int) int { return dollars }",
			after:   "package shop\n\nimport \"example.com/money\"\n\n// Price is in cents.\nfunc Price(dollars int) int { return money.Cents(dollars) }",
			install: "go get example.com/money@v1.2.0",
			gains:   []string{"M go.mod", "?? go.sum"},
			test:    "go test ./...", warm: goCache, other: "other.go",
		},
	}
}

// TestAnOrdinaryDay has a person and an agent do what every day has, in a fresh project of each kind: set up, edit, install, test, commit, go on
// in a second work tree, rebase, review, look, and take back. It needs the sandbox level full, at which agents commit without a setting.
func TestAnOrdinaryDay(t *testing.T) {
	for _, p := range projects()[:check.Rounds(1, 3)] { // installing in each is the server's own tests'
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.day(t)
		})
	}
}

func (p project) day(t *testing.T) {
	main := &day{workspace: &workspace{t: t, dir: filepath.Join(t.TempDir(), "shop"), home: t.TempDir()}}
	packages := filepath.Join(main.home, "packages")
	main.environ = append(p.packages(t, packages), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
	run := func(line string) string { return strings.ReplaceAll(line, "PACKAGES", packages) }

	// The person has a repository, sets governance up, and commits that.
	for name, content := range p.files {
		main.write(name, content)
	}
	main.person("git init -q -b main && git config user.name Ann && git config user.email ann@example.org && git add . && git commit -qm fresh")
	main.person("orchestra-mcp init --yes && orchestra-mcp setup claude-code && orchestra-mcp doctor")
	main.person("orchestra-mcp verify")
	main.person("git add . && git commit -qm govern")
	main.shows()

	// The agent edits what is its to edit, and nothing else.
	main.opens()
	edit := main.edits(p.source, p.before, p.after)
	main.agent.OK("read_file", args{"session": main.session, "path": "README.md"})
	main.agent.Refused("SCOPE_VIOLATION", "edit_file", args{"session": main.session, "path": "README.md", "old_string": "Shop", "new_string": "Mine"})
	main.want("README.md", "# Shop\n")

	// It installs, tests and commits. What git gains is the work, and no file of ours.
	main.runs(run(p.install))
	main.shows(append([]string{"M " + p.source}, p.gains...)...)
	if p.warm != nil {
		p.warm(main.workspace)
	}
	main.runs(p.test)
	main.runs("git add . && git commit -qm 'Sell in cents'")
	main.commits(append([]string{p.source}, names(p.gains)...)...)
	main.shows()

	// The person takes a second work tree, from before that; the files that were committed start the server there.
	main.person("git worktree add -q -b fix ../fix HEAD~1")
	fix := &day{workspace: &workspace{t: t, dir: filepath.Join(filepath.Dir(main.dir), "fix"), home: main.home}, environ: main.environ}
	before := main.person("git status --porcelain && git rev-parse HEAD")
	fix.opens()
	fix.edits(p.other, "one", "two")
	fix.runs("git add . && git commit -qm 'Say two'")
	fix.commits(p.other)
	after := main.person("git status --porcelain && git rev-parse HEAD")
	check.That(t, after == before, "work in the second work tree changed the first:\n%s\nwas\n%s", after, before)

	// Both work trees have one ledger, which no branch has: nothing of it stands in the way of a rebase.
	fix.runs("git rebase -q main")
	fix.shows()
	fix.edits(p.other, "two", "three") // the server goes on
	fix.runs("git add . && git commit -qm 'Say three'")

	// The person reviews the branch, and asks where lines come from.
	fix.person("orchestra-mcp verify && orchestra-mcp verify --git")
	fix.says("orchestra-mcp gate --base main --min-traced 100", "INT-001")
	fix.says("orchestra-mcp blame "+p.source, "INT-001")
	fix.says("orchestra-mcp why "+p.other+":"+p.lineOf("one"), "INT-001")
	fix.says("orchestra-mcp status", "INT-001")

	// What the agent did first is taken back, in this work tree only; the rest stays.
	fix.person("orchestra-mcp undo " + edit + " --yes")
	fix.want(p.source, p.files[p.source])
	fix.want(p.other, strings.Replace(p.files[p.other], "one", "three", 1))
	main.want(p.source, strings.Replace(p.files[p.source], p.before, p.after, 1))
	for _, d := range []*day{main, fix} {
		d.person("orchestra-mcp verify && orchestra-mcp verify --git")
		d.want("README.md", "# Shop\n")
	}
}

// lineOf is the number of the line of the other source that has a text.
func (p project) lineOf(text string) string {
	head, _, _ := strings.Cut(p.files[p.other], text)
	return string(rune('1' + strings.Count(head, "\n")))
}

// names are those of lines of git status.
func names(status []string) []string {
	var found []string
	for _, line := range status {
		found = append(found, strings.Fields(line)[1])
	}
	return found
}

// day is a work tree in which a person and an agent work.
type day struct {
	*workspace
	environ []string
	agent   agent
	session string
}

// person runs a line that has to pass, and returns what it printed.
func (d *day) person(line string) string {
	d.t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir, cmd.Env = d.dir, d.env(d.environ...)
	out, err := cmd.CombinedOutput()
	check.Must(d.t, err == nil, "%s: %v\n%s", line, err, out)
	return string(out)
}

func (d *day) says(line, part string) {
	d.t.Helper()
	out := d.person(line)
	check.That(d.t, strings.Contains(out, part), "%s does not say %q:\n%s", line, part, out)
}

// opens starts the server as a client does that reads the project's file, and selects the intent that init made.
func (d *day) opens() {
	d.t.Helper()
	var client struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	check.OK(d.t, json.Unmarshal([]byte(d.read(".mcp.json")), &client))
	server := client.Servers["orchestra"]
	cmd := exec.Command(filepath.Join(filepath.Dir(program), server.Command), server.Args...)
	cmd.Dir = d.dir
	d.agent = d.startAs(cmd, d.environ...).initialized().agent()
	d.session = d.agent.Selects("INT-001")
}

// once demands that what it does adds one record of a tool to the ledger. Refusals, and what git replays, have records of their own kind.
func (d *day) once(tool string, arguments args) answer {
	d.t.Helper()
	records := func() []string {
		return slices.DeleteFunc(d.records(`"call":"`+tool+`"`), func(line string) bool {
			return strings.Contains(line, `"kind":"decision"`) || strings.Contains(line, `"kind":"git"`)
		})
	}
	before := records()
	arguments["session"] = d.session
	r := d.agent.OK(tool, arguments)
	if added := records()[len(before):]; len(added) != 1 || !strings.Contains(added[0], r.Str("record_id")) {
		d.t.Errorf("%s %v: the records are %q, want one, %s", tool, arguments, added, r.Str("record_id"))
	}
	return r
}

// edits has the agent read and edit a file, and returns the id of the record.
func (d *day) edits(path, before, after string) string {
	d.t.Helper()
	d.agent.OK("read_file", args{"session": d.session, "path": path})
	whole := strings.Replace(d.read(path), before, after, 1)
	r := d.once("edit_file", args{"path": path, "old_string": before, "new_string": after})
	d.want(path, whole)
	return r.Str("record_id")
}

// runs has the agent run a command that has to pass.
func (d *day) runs(line string) {
	d.t.Helper()
	r := d.once("execute_command", args{"command": line})
	check.Must(d.t, r.Object["exit_code"] == float64(0) && r.Object["sandbox_denied"] == nil && len(violations(r)) == 0,
		"%s: %s\n%v", line, r.Text, r.Object)
}

// shows demands what git status shows, in any order.
func (d *day) shows(want ...string) {
	d.t.Helper()
	d.listed("git status --porcelain --untracked-files=all", want)
}

// commits demands which files the last commit changed.
func (d *day) commits(want ...string) {
	d.t.Helper()
	d.listed("git show --format= --name-only HEAD", want)
}

func (d *day) listed(line string, want []string) {
	d.t.Helper()
	var got []string
	for line := range strings.Lines(d.person(line)) {
		got = append(got, strings.TrimSpace(line))
	}
	slices.Sort(got)
	slices.Sort(want)
	check.That(d.t, slices.Equal(got, want), "%s: %q, want %q", line, got, want)
}

func nodePackages(t *testing.T, dir string) []string {
	at := &workspace{t: t, dir: dir}
	at.write("package/package.json", `{"name": "money", "version": "1.2.0"}`)
	at.write("package/index.js", "exports.cents = (n) => 100 * n\n")
	out, err := exec.Command("tar", "-C", dir, "-czf", filepath.Join(dir, "money-1.2.0.tgz"), "package").CombinedOutput()
	check.Must(t, err == nil, "%v\n%s", err, out)
	return nil
}

// pythonPackages also finds the pip that environments are given: to unpack it into one costs more than all else.
func pythonPackages(t *testing.T, dir string) []string {
	var wheel bytes.Buffer
	archive := zip.NewWriter(&wheel)
	for name, content := range map[string]string{
		"money.py":                     "def cents(n):\n    return 100 * n\n",
		"money-1.2.dist-info/METADATA": "Metadata-Version: 2.1\nName: money\nVersion: 1.2\n",
		"money-1.2.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"money-1.2.dist-info/RECORD":   "money.py,,\nmoney-1.2.dist-info/METADATA,,\nmoney-1.2.dist-info/WHEEL,,\nmoney-1.2.dist-info/RECORD,,\n",
	} {
		w := check.Value(archive.Create(name))(t)
		check.Value(w.Write([]byte(content)))(t)
	}
	check.OK(t, archive.Close())
	(&workspace{t: t, dir: dir}).write("money-1.2-py3-none-any.whl", wheel.String())
	const find = "import ensurepip, glob; print((glob.glob(ensurepip.__path__[0] + '/_bundled/pip-*.whl') + glob.glob('/usr/share/python-wheels/pip-*.whl'))[0])"
	pip, err := exec.Command("python3", "-c", find).Output()
	check.Must(t, err == nil, "python3-venv has a wheel of pip: %v", err)
	return []string{"PYTHONPATH=" + strings.TrimSpace(string(pip))}
}

func goPackages(t *testing.T, dir string) []string {
	const goMod = "module example.com/money\n\ngo 1.21\n"
	source := &workspace{t: t, dir: t.TempDir()}
	source.write("go.mod", goMod)
	source.write("money.go", "package money\n\nfunc Cents(n int) int { return 100 * n }\n")
	var archive bytes.Buffer
	check.OK(t, modzip.CreateFromDir(&archive, module.Version{Path: "example.com/money", Version: "v1.2.0"}, source.dir))
	proxy := &workspace{t: t, dir: filepath.Join(dir, "example.com/money/@v")}
	proxy.write("list", "v1.2.0\n")
	proxy.write("v1.2.0.info", `{"Version": "v1.2.0", "Time": "2020-01-01T00:00:00Z"}`)
	proxy.write("v1.2.0.mod", goMod)
	proxy.write("v1.2.0.zip", archive.String())
	return []string{"GOPROXY=file://" + dir, "GONOSUMDB=*", "GOFLAGS=" + os.Getenv("GOFLAGS") + " -modcacherw", "GOTOOLCHAIN=local"}
}

// goCache fills the private cache of commands from the one of this test, by hard links: to compile the standard library costs 25 seconds.
func goCache(w *workspace) {
	w.t.Helper()
	mine := check.Value(exec.Command("go", "env", "GOCACHE").Output())(w.t)
	private, err := filepath.Glob(filepath.Join(w.home, "cache/orchestra-mcp/build/*"))
	check.Must(w.t, err == nil && len(private) == 1, "the private caches: %q %v", private, err)
	if out, err := exec.Command("cp", "-alf", strings.TrimSpace(string(mine))+"/.", filepath.Join(private[0], "go-build")).CombinedOutput(); err != nil {
		w.t.Logf("the test compiles everything: %v: %.200s", err, out) // another file system
	}
}
