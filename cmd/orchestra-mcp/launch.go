package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// launch is how clients start this program, by the way in which it was installed.
func (a *app) launch(workspace string) (clientsetup.Launch, error) {
	executable, err := a.executable()
	if err != nil {
		return clientsetup.Launch{}, fmt.Errorf("find the path of this binary: %w", err)
	}
	image, err := durable.ReadRegular(a.imageFile, 4<<10)
	if !errors.Is(err, fs.ErrNotExist) && len(image) == 0 {
		image = []byte("?") // there is one, and it says nothing
	}
	path, _ := a.lookup("PATH")
	return clientsetup.Find(clientsetup.Origin{
		Executable: executable, Version: buildinfo.Read().Version, Path: path, Workspace: workspace, OS: a.os,
		Image: string(image), User: fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()),
	}), nil
}

// leaveNPX takes out of the environment what npx has put there for what it runs: the directories node_modules/.bin of the
// workspace and above, in which agents may put a git that the server would run, and the flags that setup gave npx.
func leaveNPX() {
	if os.Getenv("npm_lifecycle_event") != "npx" {
		return
	}
	var dirs []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if slashed := filepath.ToSlash(dir); !strings.HasSuffix(slashed, "/node_modules/.bin") && !strings.HasSuffix(slashed, "/node-gyp-bin") {
			dirs = append(dirs, dir)
		}
	}
	_ = os.Setenv("PATH", strings.Join(dirs, string(filepath.ListSeparator)))
	for _, flag := range []string{"prefix", "local_prefix", "global_prefix", "script_shell", "fetch_retries", "yes"} {
		_ = os.Unsetenv("npm_config_" + flag)
	}
}
