// Package packages_test tries what packaging/ makes, as people would: by npx from a registry on the loopback address, with the
// bundle's own tool, in clean Debian and RPM roots. The short form packs one program for this machine; with ORCHESTRA_LONG the
// whole command runs, twice, in two clones of the commit that is checked out: what is not committed is not in these.
//
// What is needed from npm is fetched by `npm ci` here.
package packages_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// epoch is the time of all that the short form packs.
const epoch = "SOURCE_DATE_EPOCH=1700000000"

// program is what the short form packs, packed the directory with its packages.
var program, packed string

func TestMain(m *testing.M) {
	check.Waiting()
	check.OneByOne("Npx Bundle Registry Same") // one process after the other, none of them racing
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "orchestra-packages-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program, packed = filepath.Join(dir, "orchestra-mcp"), filepath.Join(dir, "packed")
	for _, command := range [][]string{
		{"go", "build", "-ldflags=-s -w", "-o", program, "./cmd/orchestra-mcp"},
		{"go", "run", "./packaging", "-binary", program, "-image=false", "-out", packed},
	} {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir, cmd.Env = "../..", append(os.Environ(), epoch)
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "%v: %v\n%s", command, err, out)
			return 1
		}
	}
	return m.Run()
}

// made is the one package whose name fits.
func made(t *testing.T, dir, pattern string) string {
	t.Helper()
	found := check.Value(filepath.Glob(filepath.Join(dir, pattern)))(t)
	check.Must(t, len(found) == 1, "%s has %v for %s", dir, found, pattern)
	return found[0]
}

// missing is for what a machine of developers may lack.
func missing(t *testing.T, what string) {
	t.Helper()
	check.Must(t, os.Getenv("CI") == "", "%s", what)
	t.Skip(what)
}

// tool is a program that npm ci brought.
func tool(t *testing.T, name string) string {
	t.Helper()
	path := check.Value(filepath.Abs(filepath.Join("node_modules", ".bin", name)))(t)
	if _, err := os.Stat(path); err != nil {
		missing(t, name+" is not installed: run `npm ci` in e2e/packages")
	}
	return path
}

func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			missing(t, "there is no "+name)
		}
	}
}

// does demands success of a command, and gives its output.
func does(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var errs bytes.Buffer
	if cmd.Stderr == nil {
		cmd.Stderr = &errs
	}
	out, err := cmd.Output()
	check.Must(t, err == nil, "%v: %v\n%s%s", cmd.Args, err, out, errs.String())
	return string(out)
}

// home gives a command a home of its own, and variables.
func home(t *testing.T, cmd *exec.Cmd, env ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	cmd.Env = append(cmd.Env, "PATH="+os.Getenv("PATH"), "HOME="+dir, "TMPDIR="+os.TempDir(), "npm_config_cache="+filepath.Join(dir, "npm"),
		"npm_config_update_notifier=false", "npm_config_audit=false", "npm_config_fund=false")
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// workspace is a directory with an intent over src.
func workspace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	check.OK(t, os.Mkdir(filepath.Join(dir, "src"), 0o755))
	does(t, home(t, exec.Command(program, "init", "--yes", "--workspace", dir)))
	return dir
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		check.That(t, strings.Contains(text, part), "%q is not in %s", part, text)
	}
}
