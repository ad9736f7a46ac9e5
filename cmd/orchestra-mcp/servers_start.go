package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/internal/hookdoor"
	"github.com/intentgov/orchestra-mcp/internal/orchdir"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/locate"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/fleet"
)

// lookAt starts one server as `serve` does, or reaches it, and ends it when its tools were listed and pinned.
func (a *app) lookAt(ctx context.Context, dir string, loaded settings.Loaded, name string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return err
	}
	defer root.Close()
	var one []upstream.Definition
	for _, d := range loaded.Settings.Upstreams() {
		if d.Name == name {
			one = append(one, d)
		}
	}
	runner, err := command.NewRunner(command.Options{MaxProcesses: loaded.Settings.Commands.MaxProcesses})
	if err != nil {
		runner = nil // an address needs none
	}
	environ := a.environ()
	servers := fleet.Open(fleet.Options{
		Definitions: one, Workspace: real, UserDir: settings.UserDir(environ), Environ: environ, Ours: ourTools(), Version: buildinfo.Read().Version,
		Runner: runner, Profiles: profile.New(real, environ), Sandbox: loaded.Settings.Confinement(nil),
		Hidden: ownPlaces(real),
		Rules:  func() (profile.Rules, error) { return secretRules(intent.Open(root).TrustedBy(a.trusts(dir))) },
		Logger: zerolog.Nop(), // the review tells what it finds
	})
	defer servers.Close()
	return servers.Start(ctx, name)
}

// ownPlaces are what a server of a workspace must not read of this program, beside the user's settings, as when `serve` starts it: where
// hooks knock, and what stands beside the tree.
func ownPlaces(workspace string) []string {
	places := []string{hookdoor.Find(os.Getenv).Dir()}
	if beside := locate.Beside(workspace); beside != "" {
		places = append(places, filepath.Join(beside, orchdir.Name, "state"), filepath.Join(beside, orchdir.Name, "cache"))
	}
	return places
}

// secretRules keep a server from the secret paths of .intentignore, as commands are kept.
func secretRules(store *intent.Store) (rules profile.Rules, err error) {
	ignore, err := store.Ignore()
	if err != nil {
		return rules, err
	}
	kinds, walk := ignore.Kinds(), ignore.Walk()
	if kinds.Paths {
		rules.Ignored, rules.Below, rules.Names = walk.Blocked, walk.Below, walk.Names
	}
	if kinds.Secrets {
		rules.Secret = walk.Secret
	}
	return rules, nil
}
