//go:build unix

package fleet_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/mcpclient"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/fleet"
)

// TestSurroundings: a program gets of our environment what it may, and starts outside of the workspace.
func TestSurroundings(t *testing.T) {
	d := is("one", "plain")
	d.Env = []string{"ROOT=${workspace}/x", "LC_ALL=C"}
	d.Command = append(d.Command, "${workspace}")
	y := newYard(t, d)
	dir, _ := programDir()
	planted := filepath.Join(y.workspace, "bin")
	check.OK(t, os.Mkdir(planted, 0o755))
	check.OK(t, os.Symlink(planted, filepath.Join(y.home, "link")))
	_, binary := programDir()
	check.OK(t, os.WriteFile(filepath.Join(planted, binary), []byte("#!/bin/sh\nexit 9\n"), 0o755))
	y.options.Environ = append(y.options.Environ, "PATH="+strings.Join([]string{planted, "bin", ".", "", filepath.Join(y.home, "link"), dir, "/usr/bin", "/bin"}, ":"))
	y.secrets(d, "# of mine\n\nAPI_KEY=k=v \r\n")
	y.open()
	got := map[string]string{}
	for line := range strings.SplitSeq(y.told("one", "surroundings", `{}`), "\n") {
		name, value, _ := strings.Cut(line, "=")
		got[name] = value
	}
	check.Equal(t, got["CWD"], y.Directory("one"))
	check.That(t, !strings.HasPrefix(got["CWD"], y.workspace), "it starts in the workspace: %s", got["CWD"])
	check.Equal(t, got["PATH"], dir+":/usr/bin:/bin")
	check.Equal(t, got["ROOT"], y.workspace+"/x")
	check.Equal(t, got["LC_ALL"], "C")
	check.Equal(t, got["API_KEY"], "k=v ")
	check.Equal(t, got["HOME"], y.home)
	for _, name := range []string{"GITHUB_TOKEN", "ORCHESTRA_X", "NODE_OPTIONS"} {
		_, there := got[name]
		check.That(t, !there, "it gets %s", name)
	}
	for _, cache := range []string{got["npm_config_cache"], got["UV_CACHE_DIR"], got["GOCACHE"]} {
		check.That(t, strings.HasPrefix(cache, filepath.Join(filepath.Dir(got["CWD"]), "cache")+"/"), "a cache is at %q", cache)
	}
	check.That(t, got["TMPDIR"] != "" && got["TMPDIR"] != os.TempDir(), "TMPDIR is %q", got["TMPDIR"])
	check.That(t, strings.Contains(strings.Join(y.state("one").Warnings, " "), "Nothing holds the server"), "it is not said: %v", y.state("one").Warnings)
}

func TestProgramsThatAreNotThere(t *testing.T) {
	for name, want := range map[string]string{
		"no-such-program-anywhere": "is not in PATH", "bin/server": "is relative", "/nowhere/server": "no such file",
	} {
		d := is("one", "plain")
		d.Command[0] = name
		y := newYard(t, d).open()
		_, err := y.ask("one", "echo", `{}`)
		check.That(t, err != nil && strings.Contains(err.Error(), want) && strings.Contains(err.Error(), "server one"), "%s: %v", name, err)
		_, noted := y.failed("one")
		check.That(t, noted == filepath.IsAbs(name), "what Ready says is noted beside, and told after it is mended")
		_, err = y.Call(context.Background(), catalogue.Tool{Server: "one", Own: "echo", Name: "one_echo"}, nil, mcpclient.Handlers{})
		check.That(t, fleet.NotSent(err), "%s: %v", name, err)
		state := y.state("one")
		check.That(t, state.Status == fleet.Failing && strings.Contains(state.Why, want) && !state.Next.IsZero(), "%+v", state)
	}
}

// TestWhatAProgramReaches, at the best level of this machine.
func TestWhatAProgramReaches(t *testing.T) {
	one, two := is("one", "plain"), is("two", "plain")
	y := newYard(t, one, two).held()
	notes := directory(t)
	one.Writable = []string{notes, filepath.Join(y.workspace, "docs"), y.home, "/"}
	y.options.Definitions[0] = one
	write := func(name string) string {
		file := filepath.Join(y.workspace, name)
		check.OK(t, os.MkdirAll(filepath.Dir(file), 0o755))
		check.OK(t, os.WriteFile(file, []byte("content"), 0o644))
		return file
	}
	secret, plain := write("private/key"), write("docs/a")
	y.options.Rules = func() (profile.Rules, error) {
		return profile.Rules{Secret: func(path string) bool { return path == "private/" || path == "private/key" }}, nil
	}
	file := y.secrets(two, "KEY=of two\n")
	y.open()
	y.told("two", "write", `{"path":"mine"}`)
	reads := func(path string) bool {
		return strings.HasSuffix(y.told("one", "read", `{"path":`+quote(path)+`}`), "<nil>")
	}
	writes := func(path string) bool { return y.told("one", "write", `{"path":`+quote(path)+`}`) == "<nil>" }
	for path, may := range map[string]bool{
		plain: true, secret: false, file: false, filepath.Join(y.Directory("two"), "mine"): false,
	} {
		check.That(t, reads(path) == may, "reads %s: %v", path, !may)
	}
	for path, may := range map[string]bool{
		"here": true, filepath.Join(notes, "a"): true, filepath.Join(os.TempDir(), "x"): y.state("one").Level == sandbox.Full,
		filepath.Join(y.workspace, "new"): false, plain: false, filepath.Join(y.home, "new"): false, file: false,
		filepath.Join(y.Directory("two"), "new"): false,
	} {
		check.That(t, writes(path) == may, "writes %s: %v", path, !may)
	}
	warnings := strings.Join(y.state("one").Warnings, " ")
	check.That(t, strings.Count(warnings, "stays closed") == 3, "%s", warnings)
}

// TestWorkspaceWrite opens the workspace, and not what governs it.
func TestWorkspaceWrite(t *testing.T) {
	d := is("one", "plain")
	d.Writes = true
	y := newYard(t, d).held()
	for _, name := range []string{".git/hooks", ".git/objects", ".git/refs", ".orchestration/state", "src", "closed"} {
		check.OK(t, os.MkdirAll(filepath.Join(y.workspace, name), 0o755))
	}
	check.OK(t, os.WriteFile(filepath.Join(y.workspace, ".git/HEAD"), []byte("ref: refs/heads/main\n"), 0o644))
	y.options.Rules = func() (profile.Rules, error) {
		return profile.Rules{Ignored: func(path string) bool { return strings.HasPrefix(path, "closed/") }}, nil
	}
	y.open()
	level := sandbox.None
	for path, may := range map[string]bool{
		"src/new": true, "new": true, ".orchestration/state/x": false, ".orchestration/active_intents.yaml": false, ".git/config": false,
		".git/hooks/pre-commit": false, ".git/HEAD": false, "closed/x": false, ".intentignore": false, ".mcp.json": false,
	} {
		came := y.told("one", "write", `{"path":`+quote(filepath.Join(y.workspace, path))+`}`)
		if level = y.state("one").Level; level == sandbox.Landlock && path == "new" {
			may = false
		}
		check.That(t, (came == "<nil>") == may, "%s: %s", path, came)
	}
	check.OK(t, y.Close())
	_, err := os.Lstat(filepath.Join(y.workspace, ".mcp.json"))
	check.That(t, errors.Is(err, os.ErrNotExist), "a placeholder stayed: %v", err)
}

// TestLevelThatIsRequired: what cannot be held does not run.
func TestLevelThatIsRequired(t *testing.T) {
	y := newYard(t, is("one", "plain"))
	y.options.Sandbox = sandbox.Want{AtLeast: sandbox.Full, Ability: func() sandbox.Ability { return sandbox.Ability{Level: sandbox.None} }}
	y.open()
	_, err := y.ask("one", "echo", `{}`)
	check.That(t, errors.Is(err, fleet.ErrHeld) && errors.Is(err, sandbox.ErrUnavailable), "%v", err)
	check.Equal(t, y.state("one").PID, 0)
	y.options.Sandbox = sandbox.Want{Off: true}
	y.options.Rules = func() (profile.Rules, error) { return profile.Rules{}, errors.New("unreadable rules") }
	y.open()
	_, err = y.ask("one", "echo", `{}`)
	check.That(t, errors.Is(err, fleet.ErrHeld) && strings.Contains(err.Error(), "unreadable rules"), "%v", err)
}

// TestFilesOfSecrets: one that others could read, or that cannot be read, lets nothing start, and is not quoted.
func TestFilesOfSecrets(t *testing.T) {
	d := is("one", "plain")
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"open":    {"KEY=verysecret\n", 0o644, "chmod 600"},
		"group":   {"KEY=verysecret\n", 0o640, "chmod 600"},
		"no name": {"KEY=a\nverysecret\n", 0o600, "line 2"},
		"blanks":  {"KEY =verysecret\n", 0o600, "line 1"},
		"a NUL":   {"KEY=very\x00secret\n", 0o600, "line 1"},
		"large":   {"KEY=" + strings.Repeat("verysecret", 10_000), 0o600, "bytes"},
	} {
		y := newYard(t, d)
		check.OK(t, os.Chmod(y.secrets(d, c.text), c.mode))
		y.open()
		_, err := y.ask("one", "echo", `{}`)
		check.That(t, errors.Is(err, fleet.ErrSecrets) && strings.Contains(err.Error(), c.want) && !strings.Contains(err.Error(), "secret\n"), "%s: %v", name, err)
		y.nowhere("verysecret")
		check.That(t, !strings.Contains(err.Error(), "verysecret"), "%v", err)
	}
}

// TestSecretsStayHidden, whatever the server does with them.
func TestSecretsStayHidden(t *testing.T) {
	one, two := is("one", "plain"), is("two", "dies")
	y := newYard(t, one, two)
	y.secrets(one, "API_KEY=the very secret\n")
	y.secrets(two, "API_KEY=the very secret\n")
	y.open()
	for _, ask := range [][2]string{{"one", "fail"}, {"one", "die"}, {"two", "echo"}, {"two", "echo"}} {
		_, err := y.ask(ask[0], ask[1], `{}`)
		check.That(t, err != nil && strings.Contains(err.Error(), "[secret]") && !strings.Contains(err.Error(), "very") && !strings.Contains(err.Error(), "\x1b"), "%v: %v", ask, err)
	}
	y.until("the end", func() bool { return y.state("one").Status == fleet.Failing })
	check.That(t, strings.Contains(y.state("one").Printed, "[secret]"), "%+v", y.state("one"))
	y.nowhere("the very secret")
}

// TestSecretsOfAWorkspace: a server that the workspace declares has none of those of the user's server of that name.
func TestSecretsOfAWorkspace(t *testing.T) {
	d := is("one", "plain")
	y := newYard(t, d)
	y.secrets(d, "API_KEY=the user's\n")
	y.options.Definitions[0].OfWorkspace = true
	y.open()
	env := strings.Split(y.told("one", "surroundings", `{}`), "\n")
	check.That(t, !slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, "API_KEY=") }), "it gets the user's secrets")
	files := fleet.FilesOf(y.options.UserDir, y.workspace, y.options.Definitions[0])
	check.That(t, files.Pins != fleet.FilesOf(y.options.UserDir, y.workspace, d).Pins, "they share pins")
	_ = upstream.Definition{}
}
