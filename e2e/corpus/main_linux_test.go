package corpus_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// Environment variables that make this test binary the server of a workspace,
// on standard input and output, as a machine with no more than a level has it.
const (
	serveEnv = "CORPUS_SERVE"
	levelEnv = "CORPUS_LEVEL"
	// requireEnv has the server require the level full.
	requireEnv = "CORPUS_REQUIRE"
	// processesEnv bounds the number of processes of a command.
	processesEnv = "CORPUS_PROCESSES"
	// revertEnv has the server take back violations at every level.
	revertEnv = "CORPUS_REVERT"
)

func TestMain(m *testing.M) {
	if names := os.Getenv(confineEnv); names != "" {
		fmt.Fprintln(os.Stderr, confine(names)) // it returns only where it failed
		os.Exit(1)
	}
	if dir := os.Getenv(serveEnv); dir != "" {
		if err := serve(dir, sandbox.Level(os.Getenv(levelEnv))); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func serve(dir string, level sandbox.Level) error {
	set := settings.Defaults()
	set.Durability = settings.OS
	set.Approvals.Wait = 0
	// What cannot be judged runs here at every level: it is what comes after
	// the judgement that is tried.
	set.Commands.Unjudged = settings.Allow
	set.Commands.Deny = []settings.CommandRule{{Prefix: "shred"}}
	if level == sandbox.None {
		set.Sandbox = settings.Off
	}
	if os.Getenv(requireEnv) != "" {
		set.Sandbox = settings.Require
	}
	if most, err := strconv.Atoi(os.Getenv(processesEnv)); err == nil {
		set.Commands.MaxProcesses = most
	}
	set.Commands.RevertViolations = os.Getenv(revertEnv) != ""
	for _, name := range []string{serveEnv, levelEnv, requireEnv, processesEnv, revertEnv} {
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	srv, err := server.New(server.Options{
		Dir: dir, Settings: set, Logger: zerolog.New(os.Stderr).Level(zerolog.WarnLevel), AdoptOrphans: true, Ability: limited(level),
	})
	if err != nil {
		return err
	}
	return errors.Join(srv.ServeStdio(context.Background(), os.Stdin, os.Stdout), srv.Close())
}

// limited is the ability of a machine that has no more than a level.
func limited(level sandbox.Level) func() sandbox.Ability {
	return func() sandbox.Ability {
		a := sandbox.Probe()
		if level == sandbox.Landlock && a.NoLandlock == nil {
			a.Level, a.NoFull = sandbox.Landlock, errors.New("not on this machine")
		}
		return a
	}
}
