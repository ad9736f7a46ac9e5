package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The module's path can be changed everywhere with one command, after which
// every import resolves.
func TestRenameModule(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("make"); err != nil {
		missing(t, "no make")
	}
	dir := t.TempDir()
	copySources(t, "..", dir)
	for _, command := range [][]string{{"make", "rename-module", "MODULE=example.org/you/governed"}, {"go", "list", "-deps", "./..."}} {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
	}
	old := strings.Join([]string{"github.com", "intentgov", "orchestra-mcp"}, "/")
	eachSource(t, dir, func(name string, content []byte) {
		if strings.Contains(string(content), old) || strings.HasSuffix(name, ".renamed") {
			t.Errorf("%s is not done", name)
		}
	})
}

func copySources(t *testing.T, from, to string) {
	eachSource(t, from, func(name string, content []byte) {
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	})
}

// eachSource gives the files of the repository, without what tools put beside
// them.
func eachSource(t *testing.T, dir string, visit func(name string, content []byte)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "node_modules", "bin"}, entry.Name()) {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		visit(name, content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
