package server_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// landlockOnly makes the machine one without namespaces.
func landlockOnly(o *server.Options) {
	o.Ability = func() sandbox.Ability {
		able := sandbox.Probe()
		able.Level, able.NoFull = sandbox.Landlock, errors.New("not on this machine")
		return able
	}
}

// project makes a fresh project, committed, and an intent with the scope that init proposes.
func project(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		check.Write(t, dir, name, content)
	}
	root := check.Value(os.OpenRoot(dir))(t)
	defer root.Close()
	found := check.Value(scaffold.Detect(root))(t)
	intents := "active_intents:\n  - id: INT-001\n    name: Work\n    status: IN_PROGRESS\n    owned_scope:\n"
	for _, glob := range found.Scope {
		intents += fmt.Sprintf("      - %q\n", glob)
	}
	check.Write(t, dir, ".orchestration/active_intents.yaml", intents+"  - id: INT-002\n    name: Docs\n    status: IN_PROGRESS\n    owned_scope: [\"docs/**\"]\n")
	check.Repository(t, dir)
	check.Write(t, dir, ".git/info/exclude", "/.orchestration/\n")
	check.Git(t, dir, "add", ".")
	check.Git(t, dir, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "fresh")
	return dir
}

// records is how many the ledger has of commands and builds.
func (b *bench) records() int {
	b.t.Helper()
	found := check.Value(b.server.Ledger().Query(context.Background(), record.Filter{Kinds: []record.Kind{record.KindCommand, record.KindBuild}}))(b.t)
	return len(found.Entries)
}

// installs runs a line that must pass, make one record, and say no more than that of packages.
func (b *bench) installs(session, line string) reply {
	b.t.Helper()
	before := b.records()
	r := b.OK("execute_command", args{"session": session, "command": line})
	code := r.Object["exit_code"]
	check.Must(b.t, code == float64(0) && r.Object["sandbox_denied"] == nil, "%s: exit code %v\n%s", line, code, r.Text)
	check.Equal(b.t, b.records()-before, 1, "%s", line)
	check.That(b.t, len(r.Text) <= 4000, "%s: an answer of %d bytes: %.2000s", line, len(r.Text), r.Text)
	return r
}

// packaged holds what the record and the result say of a package directory.
func (b *bench) packaged(r reply, place string, created int) {
	b.t.Helper()
	detail, _ := b.lastRecord(record.KindCommand).Detail["packages"].(map[string]any)
	for from, all := range map[string]map[string]any{"record": detail, "result": packages(r)} {
		one, _ := all[place].(map[string]any)
		n := 0
		_, err := fmt.Sscan(fmt.Sprint(one["created"]), &n)
		check.That(b.t, err == nil && n >= created, "the %s says of %s: %v", from, place, all)
	}
}

func packages(r reply) map[string]any {
	all, _ := r.Object["packages"].(map[string]any)
	return all
}

// gained is what git would commit.
func (b *bench) gained(want ...string) {
	b.t.Helper()
	got := strings.Fields(check.Git(b.t, b.dir, "status", "--porcelain", "--untracked-files=all"))
	check.That(b.t, slices.Equal(got, want), "git status: %q, want %q", got, want)
}

// The program starts a script of the package, which tries what it must not.
const packageScript = "echo bad > ../../README.md; mkdir ../../.git/hooks; echo bad > ../../.git/config; mkdir ../../.vscode; echo bad > ../../src/x.js; true"

func packageArchive(t *testing.T) string {
	t.Helper()
	var buffer bytes.Buffer
	zipped := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(zipped)
	add := func(name, content string) {
		check.OK(t, archive.WriteHeader(&tar.Header{Name: "package/" + name, Mode: 0o644, Size: int64(len(content))}))
		check.Value(archive.Write([]byte(content)))(t)
	}
	add("package.json", `{"name":"dep","version":"1.0.0","main":"lib/0.js","scripts":{"postinstall":"`+packageScript+`"}}`)
	add(".vscode/settings.json", "{}")
	for i := range 400 {
		add(fmt.Sprintf("lib/%d.js", i), fmt.Sprintf("module.exports = %d\n", i))
	}
	check.OK(t, archive.Close())
	check.OK(t, zipped.Close())
	return buffer.String()
}

func TestInstallInAFreshNodeProject(t *testing.T) {
	t.Parallel()
	dir := project(t, map[string]string{
		"package.json": `{"name": "shop", "version": "1.0.0"}` + "\n", ".gitignore": "node_modules/\n", "src/a.js": "", "README.md": "# Shop\n", "dep.tgz": packageArchive(t),
	})
	b, s := start(t, dir).under("INT-001")
	const quiet = " --offline --no-audit --no-fund --loglevel=error"
	r := b.installs(s, "npm install ./dep.tgz"+quiet)
	b.wantChanges(b.lastRecord(record.KindCommand), "created package-lock.json", "created src/x.js", "modified package.json")
	b.packaged(r, "node_modules", 400)
	if !strings.Contains(r.Text, "[packages in node_modules: ") || !strings.Contains(r.Text, "1 files that make other programs run code") || strings.Contains(r.Text, "does not ignore") {
		t.Errorf("%s", r.Text)
	}
	b.gained("M", "package.json", "??", "package-lock.json", "??", "src/x.js")
	check.That(t, b.read("README.md") == "# Shop\n" && !b.exists(".vscode") && !b.exists(".git/hooks"), "a package's script wrote out of scope")
	if check.Long() {
		b.installs(s, "rm -rf node_modules && npm ci"+quiet)
		b.wantChanges(b.lastRecord(record.KindCommand))
	}
	check.Equal(t, b.read("node_modules/dep/lib/7.js"), "module.exports = 7\n")
}

// modules is a proxy with one module, as GOPROXY has it.
func modules(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	ownHome(t, home)
	dir := filepath.Join(home, "proxy") // in /tmp the command would not see it
	at := module.Version{Path: "example.com/money", Version: "v1.2.0"}
	source := t.TempDir()
	check.Write(t, source, "go.mod", "module example.com/money\n\ngo 1.21\n")
	check.Write(t, source, "money.go", "package money\n\nfunc Cents(n int) int { return 100 * n }\n")
	var archive bytes.Buffer
	check.OK(t, modzip.CreateFromDir(&archive, at, source))
	for name, content := range map[string]string{
		"list": "v1.2.0\n", "v1.2.0.info": `{"Version":"v1.2.0","Time":"2020-01-01T00:00:00Z"}`, "v1.2.0.mod": "module example.com/money\n\ngo 1.21\n", "v1.2.0.zip": archive.String(),
	} {
		check.Write(t, dir, filepath.Join("example.com/money/@v", name), content)
	}
	return "file://" + dir
}

func TestInstallInAFreshGoProject(t *testing.T) {
	dir := project(t, map[string]string{
		"go.mod": "module example.com/shop\n\ngo 1.21\n", "cmd/shop/main.go": "package main\n\nimport \"example.com/money\"\n\nfunc main() { println(money.Cents(1)) }\n", ".gitignore": "/vendor/\n",
	})
	for name, value := range map[string]string{
		"GOPROXY": modules(t), "GONOSUMDB": "*", "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local",
	} {
		t.Setenv(name, value)
	}
	b, s := start(t, dir).under("INT-001")
	b.installs(s, "go get example.com/money@v1.2.0")
	b.wantChanges(b.lastRecord(record.KindCommand), "created go.sum", "modified go.mod")
	r := b.installs(s, "go mod tidy && go mod vendor")
	b.packaged(r, "vendor", 2)
	b.gained("M", "go.mod", "??", "go.sum")

	// What git tracks is a source like any other.
	check.Write(t, dir, ".gitignore", "")
	check.Git(t, dir, "add", ".")
	check.Git(t, dir, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "vendored")
	r = b.OK("execute_command", args{"session": s, "command": "go mod vendor; rm -f vendor/modules.txt"})
	check.That(t, len(packages(r)) == 0 && b.exists("vendor/modules.txt"), "a tracked vendor is open: %s", r.Text)
}

// wheel is a package of Python, as pip has it.
func wheel(t *testing.T, name string) {
	t.Helper()
	file := check.Value(os.Create(name))(t)
	defer file.Close()
	archive := zip.NewWriter(file)
	for _, part := range [][2]string{
		{"money.py", "def cents(n):\n    return 100 * n\n"},
		{"money-1.2.dist-info/METADATA", "Metadata-Version: 2.1\nName: money\nVersion: 1.2\n"},
		{"money-1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"money-1.2.dist-info/RECORD", "money.py,,\nmoney-1.2.dist-info/METADATA,,\nmoney-1.2.dist-info/WHEEL,,\nmoney-1.2.dist-info/RECORD,,\n"},
	} {
		w := check.Value(archive.Create(part[0]))(t)
		check.Value(w.Write([]byte(part[1])))(t)
	}
	check.OK(t, archive.Close())
}

// pipWheel is the pip that environments are given, as the system has it: to unpack it into each costs ten times as much.
func pipWheel(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("python3", "-c", "import ensurepip; print(ensurepip.__path__[0])").Output()
	check.Must(t, err == nil, "python3-venv is missing: %v", err)
	for _, dir := range []string{filepath.Join(strings.TrimSpace(string(out)), "_bundled"), "/usr/share/python-wheels"} {
		if found, _ := filepath.Glob(filepath.Join(dir, "pip-*.whl")); len(found) > 0 {
			return found[0]
		}
	}
	t.Fatal("there is no wheel of pip; python3-venv has one")
	return ""
}

func TestInstallInAFreshPythonProject(t *testing.T) {
	dir := project(t, map[string]string{"requirements.txt": "money==1.2\n", "shop/__init__.py": "", "wheels/.keep": ""})
	wheel(t, filepath.Join(dir, "wheels/money-1.2-py3-none-any.whl"))
	check.Git(t, dir, "add", ".")
	check.Git(t, dir, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "wheel")
	t.Setenv("PYTHONPATH", pipWheel(t))
	b, s := start(t, dir).under("INT-001")
	r := b.installs(s, "python3 -m venv --without-pip .venv")
	check.That(t, strings.Contains(r.Text, `add the line ".venv/" to .gitignore`), "%s", r.Text)
	b.packaged(r, ".venv", 4)
	b.wantChanges(b.lastRecord(record.KindCommand))
	// What makes an environment must not be what lets pip fill it.
	r = b.installs(s, ".venv/bin/python -m pip install -q --disable-pip-version-check --no-index --find-links wheels -r requirements.txt && .venv/bin/python -c 'import money; print(money.cents(3))'")
	check.That(t, strings.Contains(r.Str("output"), "300"), "%s", r.Text)
	b.packaged(r, ".venv", 4)
	b.wantChanges(b.lastRecord(record.KindCommand))
}

// fake puts programs on PATH that do what package managers do to files: write a temporary one and rename it.
func fake(t *testing.T, names ...string) {
	t.Helper()
	bin := t.TempDir()
	for _, name := range names {
		check.Write(t, bin, name, "#!/bin/sh\nset -e\n"+
			"[ \"$1\" = ci ] || for f in package.json package-lock.json; do echo \"{}$*\" > $f.tmp1; mv $f.tmp1 $f; done\n"+
			"rm -rf node_modules; mkdir -p node_modules/dep; echo x > node_modules/dep/index.js\n")
		check.OK(t, os.Chmod(filepath.Join(bin, name), 0o755))
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// Out of scope, manifests and lock files are one question, and a grant for the intent answers it for later installs.
func TestInstallOutOfScopeIsAskedOnce(t *testing.T) {
	dir := project(t, map[string]string{"package.json": "{}\n", "src/a.js": "", "docs/a.md": "", ".gitignore": "node_modules\n"})
	fake(t, "npm")
	b, s := start(t, dir, asks).under("INT-002")
	call := args{"session": s, "command": "npm install left-pad"}
	id := b.required("execute_command", call)
	asked, err := b.inbox().Get(id)
	if err != nil || len(asked.Checks) != 1 || !slices.Equal(asked.Checks[0].Paths, []string{"package.json", "package-lock.json"}) || !strings.Contains(asked.Checks[0].Reason, "Install dependencies (npm install)") {
		t.Fatalf("asked %+v, %v", asked.Checks, err)
	}
	b.answers(id, approval.ForIntent, "")
	b.installs(s, "npm install left-pad")
	b.wantChanges(b.lastRecord(record.KindCommand), "created package-lock.json", "modified package.json")
	b.installs(s, "npm add other")
	b.gained("M", "package.json", "??", "package-lock.json")

	// Only what was asked about is open, and only to such a command.
	r := b.Call("execute_command", args{"session": s, "command": "npm install x; touch src/n.js other.js"})
	check.That(t, !b.exists("src/n.js") && !b.exists("other.js"), "an install opened what else is there: %s", r.Text)
	if r := b.OK("execute_command", args{"session": s, "command": "echo {} > $(printf package.json)", "timeout": 60}); r.Object["exit_code"] == float64(0) {
		t.Errorf("package.json is open to any command: %s", r.Text)
	}
}

// Where nobody can be asked, the refusal says all that has to be asked for.
func TestInstallOutOfScopeSaysHowToAsk(t *testing.T) {
	dir := project(t, map[string]string{"package.json": "{}\n", "src/a.js": "", "docs/a.md": ""})
	fake(t, "npm")
	b, s := start(t, dir).under("INT-002")
	r := b.Refused("SCOPE_VIOLATION", "execute_command", args{"session": s, "command": "npm i left-pad"})
	if !strings.Contains(r.Str("suggestion"), `request_scope_expansion with paths: ["package.json", "package-lock.json"]`) || !strings.HasPrefix(r.Str("error"), "Install dependencies (npm i)") {
		t.Errorf("%s", r.Text)
	}
	check.That(t, !b.exists("node_modules"), "it ran")
	// What writes no manifest needs no question.
	b.installs(s, "npm ci")
}

// At every level the packages are in no list and the record is one.
func TestInstallAtEveryLevel(t *testing.T) {
	for name, level := range map[string]func(*server.Options){
		"landlock": landlockOnly,
		"none":     withoutSandbox,
	} {
		t.Run(name, func(t *testing.T) {
			dir := project(t, map[string]string{"package.json": "{}\n", "package-lock.json": "{}\n", "src/a.js": ""})
			bin := t.TempDir()
			check.Write(t, bin, "npm", "#!/bin/sh\necho '{\"a\":1}' > package-lock.json; mkdir -p node_modules/dep; echo x > node_modules/dep/index.js\n")
			check.OK(t, os.Chmod(filepath.Join(bin, "npm"), 0o755))
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			b, s := start(t, dir, level).under("INT-001")
			r := b.installs(s, "npm install")
			check.That(t, r.Str("sandbox") == name && strings.Contains(r.Text, `add the line "node_modules/" to .gitignore`), "%s", r.Text)
			b.wantChanges(b.lastRecord(record.KindCommand), "modified package-lock.json")
			b.packaged(r, "node_modules", 1)
		})
	}
}
