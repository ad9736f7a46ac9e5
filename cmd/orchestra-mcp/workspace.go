package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/gitdir"
	"github.com/intentgov/orchestra-mcp/pkg/operator"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// workspaceDir is the absolute path of the workspace that a subcommand is about: --workspace, else the nearest
// directory upward that has .orchestration, else the current directory.
func (a *app) workspaceDir() (string, error) {
	current, err := a.currentDir()
	if err != nil {
		return "", err
	}
	if a.workspaceFlag != "" {
		return existingDir(a.workspaceFlag, current)
	}
	if dir, found := workspaceAbove(current); found {
		return dir, nil
	}
	return current, nil
}

func (a *app) currentDir() (string, error) {
	dir, err := a.workDir()
	if err != nil {
		err = fmt.Errorf("find the current directory: %w; change to one that exists, or give --workspace DIR", err)
	}
	return dir, err
}

// fromWorkDir makes the name of a file absolute.
func (a *app) fromWorkDir(name string) string {
	dir, err := a.workDir()
	if err != nil || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// workspaceAbove is the nearest directory upward that has .orchestration. From a linked work tree that lies in another
// one of its repository it is not that one's: what is done here would land there.
func workspaceAbove(start string) (dir string, found bool) {
	for dir := start; ; dir = filepath.Dir(dir) {
		if info, err := os.Stat(filepath.Join(dir, ".orchestration")); err == nil && info.IsDir() {
			return dir, !siblings(start, dir)
		}
		if dir == filepath.Dir(dir) {
			return "", false
		}
	}
}

// siblings reports whether two directories are in different work trees of one repository.
func siblings(a, b string) bool {
	topA, commonA := gitdir.New(a).WorkTree()
	topB, commonB := gitdir.New(b).WorkTree()
	return commonA != "" && commonB != "" && !durable.SamePath(topA, topB) && durable.SamePath(commonA, commonB)
}

// servedDir is the workspace that a server is for. A client starts it in the directory that it has opened, or says where
// that is; what another machine's, or another work tree's, configuration says is refused.
func (a *app) servedDir() (string, error) {
	current, err := a.currentDir()
	if err != nil {
		return "", err
	}
	if strings.Contains(a.workspaceFlag, "${") {
		return "", usageErrorf("--workspace %s: the client has not put a directory in the place of the variable; use a version that does, "+
			"or take --workspace out of its configuration where it starts servers in the directory that it has opened", a.workspaceFlag)
	}
	dir, err := a.workspaceDir()
	switch {
	case err != nil:
		return "", err
	case a.workspaceFlag != "" && siblings(current, dir):
		top, _ := gitdir.New(current).WorkTree()
		return "", usageErrorf("--workspace %s is another work tree of the repository than the one that this server is started in, %s: "+
			"what an agent does here would land there. Run `orchestra-mcp setup CLIENT` in %s, which takes the path out of the client's "+
			"configuration; or start the server in the work tree that it is for", dir, top, top)
	case a.workspaceFlag != "":
		return dir, nil
	}
	if _, found := workspaceAbove(current); found {
		return dir, nil
	}
	// Claude Code sets it for the servers that it starts.
	if project, _ := a.lookup("CLAUDE_PROJECT_DIR"); filepath.IsAbs(project) && !siblings(current, project) {
		if dir, found := workspaceAbove(project); found {
			return dir, nil
		}
	}
	if home, _ := a.home(); dir == filepath.Dir(dir) || home != "" && durable.SamePath(dir, home) {
		return "", usageErrorf("the client has started this server in %s, where no workspace is, and everything below could be read: "+
			"give --workspace DIR in its configuration, or have it start servers in the directory that it has opened", dir)
	}
	return dir, nil
}

func existingDir(dir, current string) (string, error) {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(current, dir)
	}
	dir = filepath.Clean(dir)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", mistakef("--workspace %s: there is no such directory; create it first", dir)
	case err != nil:
		return "", mistakef("--workspace %s: %w", dir, err)
	case !info.IsDir():
		return "", mistakef("--workspace %s: it is not a directory", dir)
	}
	return dir, nil
}

// withWorkspace opens the workspace for a body, so that nothing outside of it can be reached through it.
func (a *app) withWorkspace(body func(root *os.Root) error) error {
	dir, err := a.workspaceDir()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	return body(root)
}

// withOperator opens the workspace for a body as its operator sees it.
func (a *app) withOperator(ctx context.Context, body func(*operator.Workspace) error) error {
	dir, err := a.workspaceDir()
	if err != nil {
		return err
	}
	return a.withOperatorOf(ctx, dir, body)
}

// withOperatorOf is withOperator for the workspace in a directory.
func (a *app) withOperatorOf(ctx context.Context, dir string, body func(*operator.Workspace) error) error {
	w, err := operator.Open(operator.Options{Dir: dir, Environ: a.environ(), Now: a.now, Logger: a.logger(settings.LevelError)})
	if err != nil {
		return err
	}
	return errors.Join(body(w), w.Close(context.WithoutCancel(ctx))) // an interrupt ends the body
}

// withServer opens the workspace for a body as a server does, next to those that run.
func (a *app) withServer(ctx context.Context, body func(*server.Server) error) error {
	return a.withOperator(ctx, func(w *operator.Workspace) error { return w.WithServer(body) })
}
