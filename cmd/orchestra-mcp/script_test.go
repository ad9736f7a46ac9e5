package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"orchestra-mcp": main, "leave-entry": leaveEntry, "fake-claude": fakeClaude, "fixture-server": fixtureServer, "observe-fixture": observeFixture})
}

// TestScripts runs the command line as a person would, each script in a directory and with a home of its own; under the race detector every
// third.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	check.Must(t, err == nil && len(scripts) >= 3, "%d scripts: %v", len(scripts), err)
	if check.Short() {
		scripts = everyNth(3, scripts)
	}
	testscript.Run(t, testscript.Params{
		Files:               scripts,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, ".home")
			env.Setenv("HOME", home)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
			env.Setenv("XDG_CACHE_HOME", filepath.Join(home, ".cache"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(home, ".local", "state"))
			env.Setenv("APPDATA", filepath.Join(home, "AppData"))
			env.Setenv("GIT_CONFIG_NOSYSTEM", "1")
			env.Setenv("GIT_CONFIG_COUNT", "1")
			env.Setenv("GIT_CONFIG_KEY_0", "maintenance.auto")
			env.Setenv("GIT_CONFIG_VALUE_0", "false")
			env.Setenv("TZ", "UTC")
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else each program sleeps a second at its end under -race
			return os.MkdirAll(home, 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "story": storyScript},
	})
}

func everyNth[T any](n int, all []T) (few []T) {
	for i := 0; i < len(all); i += n {
		few = append(few, all[i])
	}
	return few
}

// exits runs a program and requires an exit code: exits 2 orchestra-mcp bogus.
func exits(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 2 {
		ts.Fatalf("usage: exits CODE program [args...]")
	}
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		coded, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = string(rune('0' + coded.ExitCode()))
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}
