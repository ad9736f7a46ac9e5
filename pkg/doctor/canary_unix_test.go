//go:build unix

package doctor_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
	"github.com/intentgov/orchestra-mcp/pkg/doctor"
	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

// withClient is a workspace in which one client is set up.
func withClient(t *testing.T, name string) (doctor.Options, *os.Root) {
	t.Helper()
	opts, root := fresh(t)
	opts.Hooks = true
	plan := check.Value(clientsetup.New(name, clientsetup.Options{Workspace: opts.Dir, Launch: clientsetup.At(opts.Executable), Home: opts.Home, OS: opts.OS,
		LookupEnv: func(string) (string, bool) { return "", false }}))(t)
	check.OK(t, plan.Apply(opts.Dir))
	return opts, root
}

// hooks is the one finding about hooks.
func hooks(t *testing.T, opts doctor.Options) (found doctor.Finding) {
	t.Helper()
	n := 0
	for _, f := range doctor.Run(context.Background(), opts).Findings {
		if f.Area == "hooks" {
			found = f
			n++
		}
	}
	check.Equal(t, n, 1, "findings")
	return found
}

func TestAPersonTriesAClient(t *testing.T) {
	const canary = ".orchestration/state/canary-cursor-2026-12-01"
	opts, root := withClient(t, "cursor")
	f := hooks(t, opts)
	check.That(t, f.Status == doctor.Warn && strings.Contains(f.Remedy, canary), "%+v", f)

	check.OK(t, root.Mkdir(".orchestration/state", 0o700))
	check.OK(t, root.WriteFile(canary, []byte("canary"), 0o600))
	f = hooks(t, opts)
	check.That(t, f.Status == doctor.Fail && strings.Contains(f.Message, "does not fire"), "%+v", f)
	_, err := root.Lstat(canary)
	check.That(t, errors.Is(err, fs.ErrNotExist), "the canary was left: %v", err)

	refused := func(client string) {
		l := check.Value(ledger.Open(root, ledger.Options{}))(t)
		_, err := l.Append(context.Background(), record.Record{Kind: record.KindDecision, Call: "write_to_file", Client: record.Client{Name: client},
			Decision: &record.Decision{Outcome: "refused", ErrorType: "PROTECTED_PATH", Paths: []string{canary}}})
		check.OK(t, errors.Join(err, l.Close(context.Background())))
	}
	refused("gemini")
	check.Equal(t, hooks(t, opts).Status, doctor.Warn, "another client's")
	refused("cursor")
	check.Equal(t, hooks(t, opts).Status, doctor.OK)
}

func TestAClientThatHangsIsEnded(t *testing.T) {
	opts, _ := withClient(t, "claude-code")
	bin := t.TempDir()
	check.OK(t, os.WriteFile(filepath.Join(bin, "claude"), []byte("#!/bin/sh\nwhile :; do sleep 1000; done\n"), 0o755))
	opts.Environ = append(opts.Environ, "PATH="+bin+":"+os.Getenv("PATH"))
	opts.ClientTime = 10 * time.Millisecond
	f := hooks(t, opts)
	check.That(t, f.Status == doctor.Warn && strings.Contains(f.Message, "did not end within"), "%+v", f)
}
