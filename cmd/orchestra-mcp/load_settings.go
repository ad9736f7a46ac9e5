package main

import (
	"fmt"
	"os"

	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// systemSettings is where the machine's settings are.
const systemSettings = "/etc/orchestra-mcp"

// loadSettings reads the settings that hold for a workspace; flags are values by key.
func (a *app) loadSettings(dir string, flags map[string]string) (settings.Loaded, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return settings.Loaded{}, fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	environ := os.Environ()
	return settings.Load(settings.LoadOptions{
		WorkspaceRoot: root, WorkspaceDir: dir, SystemDir: systemSettings, UserDir: settings.UserDir(environ),
		Environ: environ, Flags: flags,
	})
}
