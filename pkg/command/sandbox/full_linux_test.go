package sandbox_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/probes"
)

// nobody is an ordinary user.
const nobody = 65534

// TestMain makes the test binary the program of the attacks where it is called
// by that name, and puts it under that name on PATH.
func TestMain(m *testing.M) {
	probes.Main()
	if filepath.Base(os.Args[0]) == "attack" && len(os.Args) > 1 {
		attack(os.Args[1], os.Args[2:])
		return
	}
	if os.Getenv(mountedEnv) == "make" {
		fmt.Fprintln(os.Stderr, makeMounts()) // it returns only where it failed
		os.Exit(1)
	}
	os.Exit(withAttacks(m))
}

func withAttacks(m *testing.M) int {
	dir, err := os.MkdirTemp("", "attacks-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = copyOfSelf(filepath.Join(dir, "attack"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	return m.Run()
}

// TestFullAsAnOrdinaryUser runs the other tests of Full again, as somebody who is not root, and of those of Landlock what it
// holds; without ORCHESTRA_LONG what is held, hidden and refused. Who is not root has run them so already.
func TestFullAsAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		return
	}
	newWorkspace(t)                                 // where root has no namespaces, nobody has
	dir := check.Value(os.MkdirTemp("", "user"))(t) // a short name: there will be sockets in it
	defer os.RemoveAll(dir)
	check.OK(t, os.Chmod(dir, 0o755))
	program := filepath.Join(dir, "program")
	check.OK(t, copyOfSelf(program))
	home := filepath.Join(dir, "h")
	check.OK(t, os.Mkdir(home, 0o755))
	check.OK(t, os.Chown(home, nobody, nobody))
	tests := "^Test(Full(Hold|Hide|Reading|Refuse|Leaves)|LandlockHolds)"
	if check.Long() {
		tests = "^Test(Full|Landlock)"
	}
	cmd := exec.Command(program, "-test.run", tests, "-test.v")
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "TMPDIR="+home)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if bytes.Contains(out, []byte("--- SKIP: TestFullHolds")) {
		t.Skipf("only root has namespaces here:\n%s", out)
	}
	check.That(t, err == nil && bytes.Contains(out, []byte("--- PASS: TestFullHolds/")), "as user %d: %v\n%s", nobody, err, out)
}

func copyOfSelf(path string) error {
	content, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o755)
}

// workspace is a directory of two kinds of files, those in scope and others, and a place outside.
type workspace struct {
	t       *testing.T
	root    string
	outside string
	profile *sandbox.Profile
}

func newWorkspace(t *testing.T) *workspace {
	t.Helper()
	if err := sandbox.Probe().NoFull; err != nil {
		if os.Getenv("CI") == "" {
			t.Skip(err)
		}
		t.Fatal("CI must have the level full: ", err)
	}
	w := &workspace{t: t, root: t.TempDir(), outside: t.TempDir()}
	files(t, w.root, "src/a.go", "src/deep/er/b.go", "docs/out.md", ".git/config", ".git/hooks/sample", ".git/HEAD",
		".orchestration/active_intents.yaml", "secret.env", "src/keys/id")
	files(t, w.outside, "file", "dir/inner")
	w.profile = &sandbox.Profile{Workspace: w.root, Temp: t.TempDir()}
	return w
}

func (w *workspace) path(name string) string { return filepath.Join(w.root, name) }

// inScope lets the profile write below one directory.
func (w *workspace) inScope(names ...string) {
	for _, name := range names {
		w.profile.Writable = append(w.profile.Writable, w.path(name))
	}
}

// everything lets it write the workspace but for what is governed.
func (w *workspace) everything() {
	w.profile.Writable = append(w.profile.Writable, w.root)
	for _, name := range []string{".orchestration/", ".intentignore", ".git/hooks/", ".git/config", ".git/config.worktree",
		".git/commondir", ".git/modules/", ".git/worktrees/", ".git/info/attributes", ".git/objects/info/alternates", "docs/out.md"} {
		w.profile.Frozen = append(w.profile.Frozen, sandbox.Frozen{Path: w.path(filepath.Clean(name)), Directory: strings.HasSuffix(name, "/")})
	}
}

// run runs a line in the profile, its root as $W, a place outside of it as $O and this process as $S.
func (w *workspace) run(line string) (output string, code int) {
	w.t.Helper()
	output, code = held(w.t, sandbox.Full, w.profile, fmt.Sprintf("W=%s O=%s S=%d\n%s", w.root, w.outside, os.Getpid(), line))
	w.t.Logf("%d %s", code, output)
	return output, code
}

// surroundings describes everything below the directories but what is in scope: names, modes, times, contents, links.
func surroundings(t *testing.T, skip string, dirs ...string) string {
	t.Helper()
	var out strings.Builder
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if path == skip {
				return fs.SkipDir
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			describe(&out, path, info)
			return nil
		})
		check.OK(t, err)
	}
	return out.String()
}

func describe(out *strings.Builder, path string, info fs.FileInfo) {
	raw := info.Sys().(*syscall.Stat_t)
	fmt.Fprintf(out, "%s %v %d:%d %d links=%d", path, info.Mode(), raw.Uid, raw.Gid, raw.Ino, raw.Nlink)
	switch {
	case info.Mode().IsRegular():
		content, _ := os.ReadFile(path)
		fmt.Fprintf(out, " %v %q", info.ModTime().UnixNano(), content)
	case info.Mode()&os.ModeSymlink != 0:
		target, _ := os.Readlink(path)
		fmt.Fprintf(out, " -> %s", target)
	}
	out.WriteByte('\n')
}
