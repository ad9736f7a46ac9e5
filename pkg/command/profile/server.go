package profile

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// Server is a program that lives beside the commands: an MCP server of others. Like a command it reads what is not secret, and
// reaches the network.
type Server struct {
	Level sandbox.Level
	Rules Rules
	// Data and Caches are existing directories of its own, by absolute paths without links, that it may write. The caches of package
	// managers are below Caches, and no command's: what a command could put there the server would run.
	Data, Caches string
	// Writable are more places, by absolute paths. One in the workspace, or around it or something Hidden, is left out with a warning.
	Writable []string
	// Hidden is that of Request.
	Hidden []string
	// Workspace: it may also write what a command without a scope may, but no output of builds and nothing of .git.
	Workspace bool
}

// Serve works out what a server may reach. It is made when the server starts: what the rules close later has no effect on the one that
// runs, but for what the gate sees of its calls.
func (m *Builder) Serve(server Server) (*Profile, error) {
	return m.begin(server.Level, func(r *Profile) error {
		if err := os.MkdirAll(filepath.Join(server.Caches, "coverage"), 0o700); err != nil {
			return err
		}
		r.env = append(r.env, cachesIn(server.Caches, m.environ)...)
		r.env = append(r.env, "XDG_CACHE_HOME="+server.Caches, "XDG_DATA_HOME="+server.Data, "XDG_STATE_HOME="+server.Data) // its home it cannot write
		if server.Level == sandbox.None || server.Level == "" {
			return nil
		}
		r.Sandbox = &sandbox.Profile{Workspace: m.root, Temp: r.temp.path, Lasting: true}
		s, err := m.survey(Request{Level: server.Level, Rules: server.Rules, Hidden: server.Hidden, Dir: "."})
		if err != nil {
			return err
		}
		if server.Workspace {
			shape(r, s)
		}
		r.Sandbox.Writable = append(r.Sandbox.Writable, server.Data, server.Caches)
		m.openFor(r, server)
		r.hide(s)
		r.HideNames(nil) // which says what of it can be read all the same
		if s.short {
			r.warn("The workspace has more than %d entries; the server cannot write what was not looked at.", maxEntries)
		}
		return nil
	})
}

// openFor adds the places that the operator names for a server.
func (m *Builder) openFor(r *Profile, server Server) {
	for _, name := range server.Writable {
		real, err := filepath.EvalSymlinks(name)
		if err != nil || !filepath.IsAbs(name) {
			r.warn("writable names %s, which is not there: make it, and start the server again.", name)
			continue
		}
		holds := func(path string) bool { return within(real, path) }
		switch {
		case within(m.root, real) || holds(m.root):
			r.warn("writable names %s, which stays closed to the server, as the workspace is there: workspace: write opens that, under the law.", name)
		case slices.ContainsFunc(server.Hidden, holds):
			r.warn("writable names %s, which stays closed to the server, as this program keeps its own files there.", name)
		case !r.writable(real):
			r.Sandbox.Writable = append(r.Sandbox.Writable, real)
		}
	}
}
