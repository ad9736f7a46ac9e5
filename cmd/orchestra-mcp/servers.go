package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/intentgov/orchestra-mcp/cmd/orchestra-mcp/internal/printer"
	"github.com/intentgov/orchestra-mcp/internal/nearest"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/survey"
	"github.com/intentgov/orchestra-mcp/pkg/tools"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
)

func (a *app) newServersCommand() *cobra.Command {
	list := a.command(&cobra.Command{
		Use:   "list",
		Short: "List the other servers, how many of their tools are trusted, and what is wrong",
		Long: `List the servers of the settings (servers:), without starting one. Tools in quarantine are neither listed to agents nor
called until you trust them. The exit code is 1 if something is wrong or waits for you.`,
	}, func(context.Context, []string) error { return a.listServers() })
	return makeGroup(&cobra.Command{
		Use:   "servers",
		Short: "See the other MCP servers behind this one, class and trust their tools, log in to them",
		Long: `Other MCP servers stand in the list servers of the settings, and each call of their tools passes the same gate and stands
in the same ledger as those of our own tools. setup CLIENT --adopt moves there what a client has.`,
	}, list, a.newServersReviewCommand(), a.newServersTrustCommand(), a.newServersLoginCommand())
}

// ourTools are the names of the shipped tools.
func ourTools() []string {
	names := tools.FaceNames()
	for _, tool := range tools.All(tools.Families{Files: &tools.Files{}, Brain: &tools.Brain{}, Intents: &tools.Intents{}, Commands: &tools.Commands{}, Aliases: true}, nil) {
		names = append(names, tool.Spec().Name)
	}
	return names
}

// servers are what is known of the other servers, with the settings that declare them.
func (a *app) servers() (dir string, loaded settings.Loaded, servers []survey.Server, err error) {
	if dir, err = a.workspaceDir(); err != nil {
		return
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return dir, loaded, nil, fmt.Errorf("open the workspace: %w", err)
	}
	defer root.Close()
	userDir, environ := settings.UserDir(a.environ()), a.environ()
	loaded, waiting, err := survey.Load(settings.LoadOptions{
		WorkspaceRoot: root, WorkspaceDir: dir, SystemDir: settings.SystemDir, UserDir: userDir, Environ: environ,
	})
	if err != nil {
		return dir, loaded, nil, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return dir, loaded, nil, err
	}
	o := survey.Options{Workspace: real, UserDir: userDir, Environ: environ, Ours: ourTools()}
	return dir, loaded, survey.Of(o, loaded.Settings.Upstreams(), waiting), nil
}

// server finds one of the servers by its name.
func (a *app) server(name string, servers []survey.Server) (*survey.Server, error) {
	var names []string
	for i := range servers {
		if servers[i].Name == name {
			return &servers[i], nil
		}
		names = append(names, servers[i].Name)
	}
	switch meant := nearest.Of(name, names); {
	case len(names) == 0:
		return nil, mistakef("there is no server in the settings: write it into servers, or move those of a client there with setup CLIENT --adopt")
	case meant != "":
		return nil, mistakef("there is no server %q in the settings%s", name, didYouMean(meant))
	}
	return nil, mistakef("there is no server %q in the settings, but %s", name, strings.Join(names, ", "))
}

// completeServer offers the names of the servers, as the first argument.
func (a *app) completeServer(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	_, _, servers, _ := a.servers()
	for _, s := range servers {
		if len(args) == 0 {
			names = append(names, s.Name+"\t"+s.Reached())
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// serverRow is a server in `servers list --json`.
type serverRow struct {
	Name        string   `json:"name"`
	Reached     string   `json:"reached"`
	Declared    string   `json:"declared"` // where
	Whose       string   `json:"whose"`    // yours, or the workspace's
	Looked      bool     `json:"looked"`   // its tools were pinned once
	Trusted     []string `json:"trusted"`
	Quarantined []string `json:"quarantined"`
	LeftOut     []string `json:"left_out"`
	Gone        []string `json:"gone"`
	Problems    []string `json:"problems"`
}

// whose says whose settings declare a server.
func whose(s survey.Server) string {
	switch {
	case s.Waits:
		return "workspace's, not trusted"
	case s.OfWorkspace:
		return "workspace's"
	}
	return "yours"
}

func rowOf(s survey.Server) serverRow {
	named := func(is func(catalogue.State) bool) []string {
		names := []string{}
		for _, e := range s.Entries {
			if is(e.State) {
				names = append(names, e.Own)
			}
		}
		return names
	}
	return serverRow{
		Name: s.Name, Reached: s.Reached(), Declared: s.Origin, Whose: whose(s), Looked: s.Looked,
		Trusted: named(isState(catalogue.Trusted)), Quarantined: named(catalogue.State.Quarantined), LeftOut: named(isState(catalogue.LeftOut)), Gone: named(isState(catalogue.Gone)),
		Problems: records(s.Problems, func(p survey.Problem) string { return p.Text }),
	}
}

func isState(want catalogue.State) func(catalogue.State) bool {
	return func(s catalogue.State) bool { return s == want }
}

// toolsOf counts the tools of a server by their states.
func toolsOf(s survey.Server) string {
	if s.Waits {
		return ""
	}
	if !s.Looked {
		return "not looked at yet"
	}
	var parts []string
	for _, c := range []struct {
		is   func(catalogue.State) bool
		what string
	}{
		{isState(catalogue.Trusted), "trusted"}, {catalogue.State.Quarantined, "in quarantine"}, {isState(catalogue.LeftOut), "left out"},
		{isState(catalogue.Unchosen), "not chosen"}, {isState(catalogue.Gone), "gone"},
	} {
		if n := s.Count(c.is); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, c.what))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// maxReached is how many characters of a command line or an address a table has.
const maxReached = 48

func (a *app) listServers() error {
	_, _, servers, err := a.servers()
	if err != nil {
		return err
	}
	a.answer(records(servers, rowOf), func() {
		if a.noServer(servers) {
			return
		}
		printer.Table(a.Printer, "NAME|REACHED BY|SETTINGS|TOOLS", servers, func(s survey.Server) []any {
			return []any{s.Name, printer.Cell(s.Reached(), maxReached), whose(s), toolsOf(s)}
		})
		a.tellProblems(servers...)
	})
	return found(toMend(servers))
}

// toMend reports whether something is wrong with servers that can be mended, or waits for the operator.
func toMend(servers []survey.Server) bool {
	return slices.ContainsFunc(servers, func(s survey.Server) bool {
		return slices.ContainsFunc(s.Problems, func(p survey.Problem) bool { return p.Fails || p.Args != "" })
	})
}

// noServer says so where there is none.
func (a *app) noServer(servers []survey.Server) bool {
	if len(servers) == 0 {
		a.Printf("No other server stands behind this one. Write it into servers in the settings, or move those of a client there:\n  %s\n",
			a.Bold("orchestra-mcp setup CLIENT --adopt"))
	}
	return len(servers) == 0
}

// tellProblems lists what is wrong with servers, and what helps.
func (a *app) tellProblems(servers ...survey.Server) {
	for _, s := range servers {
		for _, p := range s.Problems {
			a.Printf("\n%s\n  %s\n", capital(p.Text)+".", p.Remedy)
			if p.Args != "" {
				a.Printf("  %s\n", a.Bold("orchestra-mcp "+p.Args))
			}
		}
	}
}

func capital(text string) string {
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".")
}
