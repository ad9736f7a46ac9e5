package survey_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
	"github.com/intentgov/orchestra-mcp/pkg/survey"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/fleet"
)

// place has settings of a user and of a workspace.
type place struct {
	t         *testing.T
	user, dir string
}

func newPlace(t *testing.T, user, workspace string) *place {
	base := check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	p := &place{t, filepath.Join(base, "user"), filepath.Join(base, "ws")}
	for name, text := range map[string]string{filepath.Join(p.user, settings.FileName): user, filepath.Join(p.dir, ".orchestration", settings.FileName): workspace} {
		check.OK(t, os.MkdirAll(filepath.Dir(name), 0o700))
		check.OK(t, os.WriteFile(name, []byte(text), 0o600))
	}
	return p
}

func (p *place) of() []survey.Server {
	p.t.Helper()
	root := check.Value(os.OpenRoot(p.dir))(p.t)
	defer root.Close()
	loaded, waiting, err := survey.Load(settings.LoadOptions{WorkspaceRoot: root, WorkspaceDir: p.dir, UserDir: p.user})
	check.OK(p.t, err)
	return survey.Of(survey.Options{Workspace: p.dir, UserDir: p.user, Environ: []string{"PATH=/bin:/usr/bin"}, Ours: []string{"read_file"}}, loaded.Settings.Upstreams(), waiting)
}

// lists notes what a server lists.
func (p *place) lists(s survey.Server, name string, tools ...string) {
	p.t.Helper()
	l := catalogue.Listing{Identity: catalogue.Identity{Name: name}}
	for _, tool := range tools {
		l.Tools = append(l.Tools, json.RawMessage(tool))
	}
	check.Value(catalogue.Open(s.Files.Pins).Observe(s.Definition, l))(p.t)
}

func tool(name, description string) string {
	return `{"name":"` + name + `","description":"` + description + `","inputSchema":{"type":"object"}}`
}

// says wants one problem of a server, that says something.
func says(t *testing.T, s survey.Server, text string, fails bool, args string) {
	t.Helper()
	for _, p := range s.Problems {
		if strings.Contains(p.Text, text) {
			check.That(t, p.Fails == fails && p.Args == args && p.Remedy != "" && strings.HasPrefix(p.Text, "server "+s.Name+" "), "%+v", p)
			return
		}
	}
	t.Errorf("%q is not said of %s: %+v", text, s.Name, s.Problems)
}

func TestWhatIsKnown(t *testing.T) {
	p := newPlace(t, `servers: [{name: a, command: sh}, {name: b, command: sh, prefix: ""}, {name: c, command: sh}]`, `servers: [{name: w, command: sh}]`)
	servers := p.of()
	check.Must(t, len(servers) == 4, "%+v", servers)
	a, b, c, w := servers[0], servers[1], servers[2], servers[3]
	check.That(t, !a.Looked && len(a.Problems)+len(b.Problems)+len(c.Problems) == 0 && a.Reached() == "sh", "%+v", servers)
	says(t, w, "waits for your trust", false, "trust")
	check.That(t, w.Waits && w.OfWorkspace, "%+v", w)

	p.lists(a, "one", tool("x", "X"), tool("bad name", ""))
	p.lists(b, "two", tool("read_file", "R"), tool("y", "Y"))
	check.OK(t, os.WriteFile(c.Files.Pins, []byte("{"), 0o600))
	servers = p.of()
	check.That(t, servers[0].Looked && servers[0].Count(func(s catalogue.State) bool { return s == catalogue.Trusted }) == 1 && servers[0].Identity.Name == "one", "%+v", servers[0])
	says(t, servers[0], "1 tool that cannot be offered: bad name", false, "")
	says(t, servers[1], "1 tool that cannot be offered: read_file", false, "")
	says(t, servers[2], "has no tools", true, "")

	p.lists(a, "other", tool("x", "Changed"), tool("z", "New"))
	servers = p.of()
	says(t, servers[0], "2 tools in quarantine: x (changed), z (new)", false, "servers trust a")
	says(t, servers[0], "is not the one whose tools were pinned", false, "servers trust a")
	_, err := catalogue.Open(a.Files.Pins).Trust(a.Definition, servers[0].Entries...)
	check.OK(t, err)
	check.That(t, len(p.of()[0].Problems) == 0, "%+v", p.of()[0].Problems)
}

// TestNamesThatNoToolHas in the settings are told of, once the tools are known; patterns are not.
func TestNamesThatNoToolHas(t *testing.T) {
	p := newPlace(t, `servers: [{name: a, command: sh, safe: [x, "!y", "list_*"], effects: [{tool: z, reads: [path]}]}]`, "")
	check.Equal(t, len(p.of()[0].Problems), 0)
	p.lists(p.of()[0], "one", tool("x", "X"))
	servers := p.of()
	says(t, servers[0], "has no tool y, which stands in safe", false, "")
	says(t, servers[0], "has no tool z, which stands in effects", false, "")
	check.Equal(t, len(servers[0].Problems), 2)
}

func TestWhatCannotBeUsed(t *testing.T) {
	p := newPlace(t, `servers: [{name: a, command: no-such-program}, {name: b, url: "https://x.example"}]`, "")
	servers := p.of()
	check.OK(t, os.MkdirAll(filepath.Dir(servers[1].Files.Secrets), 0o700))
	check.OK(t, os.WriteFile(servers[1].Files.Secrets, []byte("Key: x\n"), 0o644))
	servers = p.of()
	says(t, servers[0], "no-such-program", true, "")
	says(t, servers[1], "chmod 600", true, "")
	check.OK(t, os.Chmod(servers[1].Files.Secrets, 0o600))
	check.That(t, len(p.of()[1].Problems) == 0 && p.of()[1].Reached() == "https://x.example", "%+v", p.of()[1])
	check.OK(t, os.WriteFile(servers[1].Files.Failure, []byte(`{"at":"2026-12-01T12:00:00Z","why":"it spoke no protocol","times":3,"of":"29d534674bab7943"}`), 0o600))
	says(t, p.of()[1], "has failed, 3 times in a row, last at ", true, "")
	says(t, p.of()[1], ": it spoke no protocol", true, "")
	later := time.Now().Add(time.Hour)
	check.OK(t, os.Chtimes(servers[1].Files.Secrets, later, later))
	check.That(t, len(p.of()[1].Problems) == 0, "other secrets have not failed yet: %+v", p.of()[1].Problems)
	other := servers[1].Definition
	other.URL += "/mcp"
	_, failed := servers[1].Files.Failed(other)
	check.That(t, !failed, "what failed is told of another address")
	check.That(t, servers[1].Files == fleet.FilesOf(p.user, p.dir, servers[1].Definition), "%+v", servers[1].Files)
}
