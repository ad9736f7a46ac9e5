package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

func TestMain(m *testing.M) {
	serveIfChild()
	check.Waiting()
	check.OneByOne(`PowerCut FailingDisk EveryRefusalIsRecorded RefusalsAreBounded AgentsUseGit$ Generations InstallInAFresh Renamings
		WhatTheSandboxDenied ARuleWithoutAnAnswer LessonsAreRationed TheUsersOwnDirectory BadPaths Hostile Undo ViolationsAre
		CommandOutOfScope FileToolsMake TheRules Context FilesOf`)
	os.Exit(run(m))
}

// run keeps the tests away from the user's own files. One home serves all, so that they can run at the same time.
func run(m *testing.M) int {
	home, err := os.MkdirTemp("", "orchestra-home-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(home)
	for name, value := range homeIn(home) {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

// ownHome is for a test that fills its home, and keeps it from running beside others.
func ownHome(t *testing.T, dir string) {
	t.Helper()
	for name, value := range homeIn(dir) {
		t.Setenv(name, value)
	}
}

func homeIn(dir string) map[string]string {
	return map[string]string{
		"HOME": dir, "XDG_CONFIG_HOME": filepath.Join(dir, "config"), "XDG_CACHE_HOME": filepath.Join(dir, "cache"), "GIT_CONFIG_NOSYSTEM": "1",
	}
}
