package profile_test

import (
	"bytes"
	"context"
	"embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// nobody is an ordinary user.
const nobody = 65534

// again is set where the tests of projects run a second time, as another user.
const again = "PROFILE_TEST_AGAIN"

// TestProjectsAsAnOrdinaryUser runs the tests of projects again as somebody who is not root, at the level full and without
// what compiles Go's runtime, which the long form does too. Who is not root has run them so already.
func TestProjectsAsAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		return
	}
	dir := check.Value(os.MkdirTemp("", "user"))(t)
	defer os.RemoveAll(dir)
	check.OK(t, os.Chmod(dir, 0o755))
	content := check.Value(os.ReadFile("/proc/self/exe"))(t)
	program, home := filepath.Join(dir, "program"), filepath.Join(dir, "home")
	check.OK(t, os.WriteFile(program, content, 0o755))
	check.OK(t, os.Mkdir(home, 0o755))
	check.OK(t, os.Chown(home, nobody, nobody))
	cmd := exec.Command(program, "-test.run", "^TestProject$", "-test.v")
	cmd.Dir = home
	// Tools below the home directory of root are none that an ordinary user has.
	cmd.Env = []string{"HOME=" + home, "TMPDIR=" + home, "PATH=/usr/local/go/bin:/usr/local/bin:/usr/bin:/bin"}
	if !check.Long() {
		cmd.Env = append(cmd.Env, again+"=1")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	check.That(t, err == nil && bytes.Contains(out, []byte("--- PASS: TestProject/go/full")), "as user %d: %v\n%s", nobody, err, out)
}

// project is an ordinary project, and what its people type.
type project struct {
	name  string // of the archive with its files
	scope []string
	lines []string // pass at every level
	links []string // too; without ORCHESTRA_LONG at the level full only, for they compile Go's runtime
	long  []string // too, in the long form: they compile much of Go's library
	made  []string // are there afterwards
	kept  []string // were made by none of them
}

//go:embed testdata/*.txtar
var archives embed.FS

func projects() []project {
	return []project{
		{
			name:  "go",
			scope: []string{"price/**", "cmd/**", "go.sum"},
			lines: []string{"go build ./price", "gofmt -l -w price"},
			links: []string{"go build -o bin/shop ./cmd/shop && ./bin/shop", "rm bin/shop"},
			long:  []string{"go test ./..."},
		},
		{
			name:  "node",
			scope: []string{"src/**"},
			lines: []string{"npm test", "npm run build", "npm run coverage", "npm cache ls >/dev/null"},
			made:  []string{"dist/out.js", "node_modules/.cache/b", "coverage/tmp/c.json"},
		},
		{
			name:  "python",
			scope: []string{"shop/**", "tests/**"},
			lines: []string{"python3 -m unittest discover -s tests -t .", "python3 -m compileall -q shop", "mkdir -p build/lib && cp -r shop build/lib/", "mkdir -p .pytest_cache/v"},
			made:  []string{"build/lib/shop/price.py", ".pytest_cache/v"},
			kept:  []string{"shop/__pycache__", "tests/__pycache__"},
		},
	}
}

// TestProject: tests, builds and git work in scope, at both levels, with no setting, without a network; and the rest stays as it is.
func TestProject(t *testing.T) {
	ability := sandbox.Probe()
	check.Must(t, ability.Level == sandbox.Full, "no level full here: %v", ability.NoFull)
	for _, p := range projects() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			publish(t, filepath.Join(home, "go", "pkg", "mod", "cache", "download"))
			root := p.root(t)
			for _, level := range []sandbox.Level{sandbox.Landlock, sandbox.Full} {
				if level != sandbox.Full && os.Getenv(again) != "" {
					continue
				}
				t.Run(string(level), func(t *testing.T) { p.works(t, level, root, home) })
			}
		})
	}
}

func (p project) works(t *testing.T, level sandbox.Level, root, home string) {
	s := newShell(t, root, environment(home), profile.Request{Level: level, Scope: p.scope, Dir: "."})
	for _, line := range p.lines {
		s.passes(line)
	}
	for _, line := range p.links {
		if os.Getenv(again) == "" && (level == sandbox.Full || check.Long()) {
			s.passes(line)
		}
	}
	for _, line := range p.long {
		if check.Long() {
			s.passes(line)
		}
	}
	for _, name := range p.made {
		if _, err := os.Stat(filepath.Join(s.root, name)); err != nil {
			t.Error(err)
		}
	}
	for _, name := range p.kept {
		if _, err := os.Stat(filepath.Join(s.root, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	for _, line := range []string{"echo x > README.md", "echo x >> .gitignore", "rm -r .orchestration", "echo x > .orchestration/config.yaml",
		"echo x > $HOME/.bashrc", "touch $HOME/go/pkg/mod/cache/download/x"} {
		s.fails(line)
	}
	s.git(level)
}

// shell runs lines in a project as execute_command does.
type shell struct {
	t      *testing.T
	root   string
	open   *os.File
	runner *command.Runner
	maker  *profile.Builder
	env    []string
	req    profile.Request
}

// root is the project in a repository.
func (p project) root(t *testing.T) string {
	t.Helper()
	root := check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	for _, file := range txtar.Parse(check.Value(archives.ReadFile("testdata/" + p.name + ".txtar"))(t)).Files {
		check.Write(t, root, file.Name, string(file.Data))
	}
	check.OK(t, os.MkdirAll(filepath.Join(root, ".orchestration"), 0o755))
	git(t, root, "init", "-q")
	git(t, root, "add", "-A")
	git(t, root, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", "first")
	return root
}

func environment(home string) []string {
	return []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GOPROXY=off", "GONOSUMDB=*", "GONOSUMCHECK=1", `GOFLAGS=-mod=mod -modcacherw -vet=off "-gcflags=all=-N -l"`,
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com", "GIT_CONFIG_NOSYSTEM=1"}
}

func newShell(t *testing.T, root string, env []string, req profile.Request) *shell {
	t.Helper()
	open := check.Value(os.Open(root))(t)
	t.Cleanup(func() { open.Close() })
	return &shell{t, root, open, check.Value(command.NewRunner(command.Options{}))(t), profile.New(root, env), env, req}
}

func (s *shell) run(line string, git profile.Git) command.Result {
	s.t.Helper()
	req := s.req
	req.Git = git
	made := check.Value(s.maker.Make(req))(s.t)
	result, err := s.runner.Run(context.Background(), command.Spec{
		Command: line, Dir: s.open, Env: made.Environment(s.env), Level: req.Level, Profile: made.Sandbox, Timeout: 2 * time.Minute,
	})
	check.OK(s.t, err)
	check.OK(s.t, made.Close())
	return result
}

func (s *shell) passes(line string) {
	s.t.Helper()
	r := s.run(line, profile.GitOpen)
	check.That(s.t, r.ExitCode == 0, "%s: exit code %d\n%s", line, r.ExitCode, r.Output)
}

func (s *shell) fails(line string) {
	s.t.Helper()
	r := s.run(line, profile.GitOpen)
	check.That(s.t, r.ExitCode != 0, "%s: it passed\n%s", line, r.Output)
}

// git: a commit works where the level can keep hooks and configuration apart, or where the operator trusts.
func (s *shell) git(level sandbox.Level) {
	const commit = "echo >> %s && git add -A . && git commit -qm second && git log --oneline && git status --short"
	dir := strings.TrimSuffix(s.req.Scope[0], "/**")
	line := strings.Replace(commit, "%s", dir+"/new.txt", 1)
	s.passes("git status && git log && git diff")
	if level == sandbox.Landlock {
		s.fails(line)
		if r := s.run(line, profile.GitTrusted); r.ExitCode != 0 || !strings.Contains(r.Output, "second") {
			s.t.Errorf("trusted: %d\n%s", r.ExitCode, r.Output)
		}
		return
	}
	if r := s.run(line, profile.GitOpen); r.ExitCode != 0 || !strings.Contains(r.Output, "second") {
		s.t.Errorf("%s: %d\n%s", line, r.ExitCode, r.Output)
	}
	for _, line := range []string{"git config user.name x", "echo x > .git/hooks/pre-commit", "echo x > .git/commondir", "mv .git git", "git remote add o /x",
		"mkdir .git/modules/x", "echo x > .git/config.worktree", "git worktree add ../w", "echo x >> .git/info/attributes", "echo x > .git/objects/info/alternates"} {
		s.fails(line)
	}
	if r := s.run("echo x > .git/x", profile.GitClosed); r.ExitCode == 0 {
		s.t.Error(".git was written without a git command")
	}
	git(s.t, s.root, "fsck")
}

// publish puts a module into what a user has downloaded.
func publish(t *testing.T, download string) {
	t.Helper()
	source, at := filepath.Join(t.TempDir(), "money"), filepath.Join(download, "example.com/money/@v")
	check.Write(t, source, "go.mod", "module example.com/money\n\ngo 1.24\n")
	check.Write(t, source, "money.go", "package money\n\nfunc Cents(n int) int { return n * 100 }\n")
	check.Write(t, at, "list", "v1.0.0\n")
	check.Write(t, at, "v1.0.0.info", `{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}`)
	check.Write(t, at, "v1.0.0.mod", "module example.com/money\n\ngo 1.24\n")
	archive := check.Value(os.Create(filepath.Join(at, "v1.0.0.zip")))(t)
	defer archive.Close()
	check.OK(t, zip.CreateFromDir(archive, module.Version{Path: "example.com/money", Version: "v1.0.0"}, source))
}
