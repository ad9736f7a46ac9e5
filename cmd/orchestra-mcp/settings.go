package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/scaffold"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// loadSettings reads the settings that hold for a workspace; flags are values by key from the command line.
func (a *app) loadSettings(dir string, flags map[string]string) (settings.Loaded, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return settings.Loaded{}, fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	environ := a.environ()
	return settings.Load(settings.LoadOptions{
		WorkspaceRoot: root, WorkspaceDir: dir, SystemDir: settings.SystemDir, UserDir: settings.UserDir(environ),
		Environ: environ, Flags: flags,
	})
}

// trustCreated makes what init wrote itself take effect. A file that was there before is somebody else's, until the
// operator has looked at it: a cloned repository brings its own.
func (a *app) trustCreated(root *os.Root, dir string, results []scaffold.Result) error {
	trusted := []string{scaffold.ConfigFile, scaffold.IntentsFile, scaffold.IgnoreFile}
	list := settings.TrustList{UserDir: settings.UserDir(a.environ())}
	for _, result := range results {
		if result.Action != scaffold.Created || !slices.Contains(trusted, result.File) {
			continue
		}
		if list.UserDir == "" {
			return fmt.Errorf("trust %s: there is no directory for your own settings; set HOME or XDG_CONFIG_HOME and run orchestra-mcp trust", result.File)
		}
		content, err := durable.ReadRegularIn(root, result.File, 16<<20)
		if err != nil {
			return fmt.Errorf("trust %s: %w", result.File, err)
		}
		hash := settings.ContentHash(content)
		if result.File == scaffold.IntentsFile {
			if hash = grantsOf(root); hash == "" {
				continue
			}
		}
		if err := list.Trust(dir, hash); err != nil {
			return fmt.Errorf("trust %s: %w", result.File, err)
		}
	}
	return nil
}

// grantsOf is the hash by which the intents' grants are trusted, or "" if they grant nothing.
func grantsOf(root *os.Root) string {
	for _, w := range intent.Open(root).Weakenings() {
		if w.File == scaffold.IntentsFile {
			return w.Hash
		}
	}
	return ""
}
