package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/internal/buildinfo"
	"github.com/intentgov/orchestra-mcp/internal/presence"
	"github.com/intentgov/orchestra-mcp/internal/privatefile"
	"github.com/intentgov/orchestra-mcp/pkg/console"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

func (a *app) newConsoleCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "console",
		Short: "Open the operator's page: what happens in all your workspaces, and your answers to it",
		Long: `Serve a page for your browser on this machine alone, and open it: who works in your workspaces, what waits for your
answer, the intents, the records, the files with the intent of each line. It shows every workspace in which you have run
a server, and the present one.

The link is good once. Press Enter for another, and Ctrl-C to end the console.`,
		Args:        cobra.NoArgs,
		Annotations: map[string]string{withoutJSON: "it serves a page"},
		RunE:        coded(a.operator(interruptible(a.console))),
	}
}

func (a *app) console(ctx context.Context, _ []string) error {
	if settings.UserDir(a.environ()) == "" {
		return errors.New("the console needs HOME or XDG_CONFIG_HOME, to know your workspaces")
	}
	o := console.Options{Environ: a.environ(), Governed: belowGoverned, Now: a.now, Logger: a.logger(settings.LevelInfo)}
	if dir, found := a.presentWorkspace(); found {
		o.Dirs = []string{dir}
	}
	listener, err := console.Listen(ctx)
	if err != nil {
		return fmt.Errorf("listen for the browser: %w", err)
	}
	defer a.announce(listener.Addr()).Remove()
	page := console.New(o)
	link := func() string {
		text := page.Link(listener.Addr())
		a.Printf("%s\n", text)
		a.Flush()
		return text
	}
	a.Println("The console is at this link, which is good once:")
	file := filepath.Join(settings.UserDir(a.environ()), fmt.Sprintf("console-%d.html", os.Getpid()))
	defer os.Remove(file)
	a.openPage(ctx, file, link())
	if a.inTerminal {
		a.Println("Press Enter for another link, Ctrl-C to end.")
		a.Flush()
		go func() {
			for lines := bufio.NewScanner(a.in); lines.Scan(); {
				link()
			}
		}()
	}
	return page.Serve(ctx, listener)
}

// announce notes where the console is, for links to it in clients.
func (a *app) announce(at net.Addr) *presence.Mark {
	root, err := os.OpenRoot(settings.UserDir(a.environ()))
	if err != nil {
		return nil
	}
	defer root.Close()
	mark, err := presence.Register(root, presence.Server{
		ID: presence.NewID(), Transport: "console", Address: at.String(), Version: buildinfo.Read().Version, StartedAt: a.now(),
	})
	if err != nil {
		a.warn("clients cannot link to the console: %v", err)
	}
	return mark
}

// presentWorkspace is the workspace of the directory that the command runs in, if it is one.
func (a *app) presentWorkspace() (string, bool) {
	dir, err := a.workspaceDir()
	if err != nil {
		return "", false
	}
	info, err := os.Stat(filepath.Join(dir, ".orchestration"))
	return dir, err == nil && info.IsDir()
}

// openPage has the desktop open the link, where there is one. Arguments of programs can be read by others, so that the link
// goes through a file in the user's own directory, which no command of an agent can read.
func (a *app) openPage(ctx context.Context, file, link string) {
	opener := a.desktopOpener()
	if !a.inTerminal || opener == nil {
		return
	}
	page := `<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url=` + link + `"><title>orchestra-mcp</title>`
	open := exec.CommandContext(ctx, opener[0], append(opener[1:], file)...)
	err := privatefile.Replace(file, page)
	if err == nil {
		err = open.Start()
	}
	if err != nil {
		a.warn("the page could not be opened by itself: %v", err)
		return
	}
	go func() { _ = open.Wait() }()
}

// desktopOpener is the program that opens files as a double click does, nil if there is no desktop.
func (a *app) desktopOpener() []string {
	switch a.os {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	for _, name := range []string{"WAYLAND_DISPLAY", "DISPLAY"} {
		if value, _ := a.lookup(name); strings.TrimSpace(value) != "" {
			return []string{"xdg-open"}
		}
	}
	return nil
}
