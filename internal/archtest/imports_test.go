// Package archtest holds the repository to the one way in which its packages import each other (docs/architecture.md).
//
// It reads the import clauses of every Go file, whatever system the file is for, so that what only builds on another
// one is held to the rules as well. It does not look at what is done with an import. Tests may import downwards as they
// like; they are held to one rule only, that mcp-go stays behind internal/mcpbridge.
package archtest_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "github.com/intentgov/orchestra-mcp"
	mcpGo  = "github.com/mark3labs/mcp-go"
	bridge = "internal/mcpbridge"
)

// layers are the library's packages from the bottom up. A package imports only packages of lower layers, and those of
// its own directory tree (session/order of session). What is not listed has the layer of the nearest directory above it
// that is. The programs are above all layers.
func layers() [][]string {
	return [][]string{
		{"internal"},
		{"pkg/change"},
		{"pkg/mutation/internal/verdict", "pkg/mutation/internal/treesitter"},
		{"pkg/mutation/internal"},
		{"pkg/auth", "pkg/edit", "pkg/refusal", "pkg/mutation", "pkg/brain", "pkg/rule", "pkg/upstream", "pkg/command/shell", "pkg/command/sandbox/internal/helper/kernel", "pkg/ledger/record", "pkg/ledger/internal"},
		{"pkg/ledger/internal/segment"},
		{"pkg/ledger/internal/index", "pkg/ledger/internal/live", "pkg/ledger/internal/rotation"},
		{"pkg/ledger/internal/query", "pkg/ledger/internal/union"},
		{"pkg/ledger/locate"},
		{"pkg/ledger/mend", "pkg/ledger/verify"},
		{"pkg/workspace", "pkg/kept", "pkg/command/policy", "pkg/command/sandbox", "pkg/command/layer"},
		{"pkg/session", "pkg/intent", "pkg/approval", "pkg/command", "pkg/settings", "pkg/ledger", "pkg/snapshot"},
		{"pkg/upstream/catalogue"},
		{"pkg/upstream/fleet"},
		{"pkg/survey"},
		{"pkg/hooks", "pkg/blame", "pkg/doctor", "pkg/ledger/trailer", "pkg/hooks/observe/outside", "pkg/clientrules"},
		{"pkg/hooks/observe"},
		{"pkg/hooks/ask", "pkg/hooks/gate", "pkg/hooks/trace", "pkg/hooks/external", "pkg/review"},
		{"pkg/hooks/policies"},
		{"pkg/tools", "pkg/undo", "pkg/status", "pkg/insight", "pkg/attest", "pkg/apps", "pkg/backtest", "pkg/telemetry"},
		{"pkg/native"},
		{"pkg/server"},
		{"pkg/operator"},
		{"pkg/console"},
	}
}

// programs are the top directories of what nothing imports.
func programs() []string { return []string{"cmd", "examples", "bench", "e2e", "packaging"} }

// isolated packages import nothing of ours but what is below them, what a change is, and what puts off the start.
func isolated() []string {
	return []string{"pkg/auth", "pkg/edit", "pkg/refusal", "pkg/mutation", "pkg/change", bridge}
}

// graph has the imports of each package directory, relative to the module for
// our own packages and as written for others.
type graph map[string][]string

func TestPackagesImportOneWay(t *testing.T) {
	g := readImports(t, moduleRoot(t), func(name string) bool { return !strings.HasSuffix(name, "_test.go") })
	if len(g["pkg/hooks"]) == 0 || !slices.Contains(g[bridge], mcpGo+"/mcp") {
		t.Fatalf("the imports were not read: %v", slices.Sorted(maps.Keys(g)))
	}
	for _, problem := range violations(g) {
		t.Error(problem)
	}
}

func TestOnlyTheBridgeKnowsMCPGo(t *testing.T) {
	for dir, imports := range readImports(t, moduleRoot(t), func(string) bool { return true }) {
		for _, imported := range imports {
			if isMCPGo(imported) && !knowsMCPGo(dir) && dir != "internal/mcpclient" { // whose tests have it as a server
				t.Errorf("%s imports %s: only %s does", dir, imported, bridge)
			}
		}
	}
}

// TestTheRulesAreNoticed breaks each rule once.
func TestTheRulesAreNoticed(t *testing.T) {
	for name, c := range map[string]struct {
		g    graph
		want string
	}{
		"hooks import tools":         {graph{"pkg/hooks": {"pkg/tools"}}, "pkg/hooks imports pkg/tools"},
		"hooks import server":        {graph{"pkg/hooks": {"pkg/server"}}, "pkg/hooks imports pkg/server"},
		"hooks import gate":          {graph{"pkg/hooks": {"pkg/hooks/gate"}}, "pkg/hooks imports pkg/hooks/gate"},
		"gate imports tools":         {graph{"pkg/hooks/gate": {"pkg/tools"}}, "pkg/hooks/gate imports pkg/tools"},
		"intent imports session":     {graph{"pkg/intent": {"pkg/session"}}, "pkg/intent imports pkg/session"},
		"ledger imports hooks":       {graph{"pkg/ledger": {"pkg/hooks"}}, "pkg/ledger imports pkg/hooks"},
		"ledger imports session":     {graph{"pkg/ledger": {"pkg/session"}}, "pkg/ledger imports pkg/session"},
		"the ledger's format reads":  {graph{"pkg/ledger/record": {"pkg/ledger/internal/segment"}}, "pkg/ledger/record imports pkg/ledger/internal/segment"},
		"verify reads the index":     {graph{"pkg/ledger/internal/index": {"pkg/ledger/verify"}}, "pkg/ledger/internal/index imports pkg/ledger/verify"},
		"a leaf imports internal":    {graph{"pkg/edit": {"internal/durable"}}, "pkg/edit imports internal/durable"},
		"the bridge imports pkg":     {graph{bridge: {"pkg/hooks"}}, bridge + " imports pkg/hooks"},
		"the bridge imports ours":    {graph{bridge: {"internal/durable"}}, bridge + " imports internal/durable"},
		"internal imports pkg":       {graph{"internal/orchdir": {"pkg/intent"}}, "internal/orchdir imports pkg/intent"},
		"mcp-go outside the bridge":  {graph{"pkg/server": {mcpGo + "/server"}}, "pkg/server imports " + mcpGo + "/server"},
		"a library imports cmd":      {graph{"pkg/server": {"cmd/orchestra-mcp"}}, "pkg/server imports cmd/orchestra-mcp"},
		"an example imports another": {graph{"examples/a": {"examples/b"}}, "examples/a imports examples/b"},
		"a package without a layer":  {graph{"pkg/util": {}}, "pkg/util has no layer"},
		"a directory without one":    {graph{"tools": {}}, "tools has no layer"},
		"a cycle":                    {graph{"internal/a": {"internal/b"}, "internal/b": {"internal/c"}, "internal/c": {"internal/a"}}, "cycle: internal/a → internal/b → internal/c → internal/a"},
	} {
		t.Run(name, func(t *testing.T) {
			found := violations(c.g)
			if len(found) == 0 || !strings.Contains(strings.Join(found, "\n"), c.want) {
				t.Errorf("found %q, want %q in it", found, c.want)
			}
		})
	}
}

func TestAllowedImportsAreAllowed(t *testing.T) {
	g := graph{
		"cmd/orchestra-mcp": {"pkg/server", "internal/scaffold"}, "pkg/server": {"pkg/tools", bridge}, "pkg/tools": {"pkg/hooks/gate"},
		"pkg/hooks/gate": {"pkg/hooks"}, "pkg/session": {"pkg/session/order"}, "pkg/intent/intentmap": {"internal/orchdir"},
		"pkg/ledger": {"pkg/ledger/internal/framed"},
		bridge:       {mcpGo + "/mcp"}, "internal/orchdir": {"internal/durable"},
	}
	if found := violations(g); len(found) > 0 {
		t.Error(found)
	}
}

// violations says what in a graph is against the rules, sorted.
func violations(g graph) []string {
	var found []string
	for dir, imports := range g {
		if _, ok := layerOf(dir); !ok {
			found = append(found, dir+" has no layer: give it one in internal/archtest")
		}
		for _, imported := range imports {
			if why := objection(dir, imported); why != "" {
				found = append(found, fmt.Sprintf("%s imports %s: %s", dir, imported, why))
			}
		}
	}
	slices.Sort(found)
	if cycle := findCycle(g); cycle != nil {
		found = append(found, "cycle: "+strings.Join(cycle, " → "))
	}
	return found
}

// objection says why dir may not import a package; "" if it may.
func objection(dir, imported string) string {
	if isMCPGo(imported) && !knowsMCPGo(dir) {
		return "only " + bridge + " knows mcp-go"
	}
	if !ours(imported) {
		return ""
	}
	if slices.Contains(isolated(), dir) && !within(imported, dir) && (imported != "pkg/change" && imported != "internal/lazy" || dir == bridge) {
		return dir + " imports nothing of ours but what is below it"
	}
	from, _ := layerOf(dir)
	to, _ := layerOf(imported)
	switch {
	case to < from, from == to && (family(dir, imported) || from == 0):
		return ""
	case to == from:
		return "they are of the same layer"
	}
	return "imports point downwards"
}

// knowsMCPGo: the bridge, and the examples of embedders, who have tools of its own, as the conformance suite's fixtures are.
func knowsMCPGo(dir string) bool {
	return dir == bridge || within(dir, "examples") || dir == "e2e/conformance"
}

func isMCPGo(imported string) bool {
	return imported == mcpGo || strings.HasPrefix(imported, mcpGo+"/")
}

// ours tells directories of the module from the import paths of others. The
// standard library has cmd and internal too, which nobody can import.
func ours(imported string) bool {
	top := topOf(imported)
	return top == "pkg" || top == "internal" || slices.Contains(programs(), top)
}

func topOf(dir string) string {
	top, _, _ := strings.Cut(dir, "/")
	return top
}

// layerOf is the number of a directory's layer, the bottom being 0.
func layerOf(dir string) (layer int, ok bool) {
	all := layers()
	if slices.Contains(programs(), topOf(dir)) {
		return len(all), true
	}
	for at := dir; at != "."; at = path.Dir(at) {
		for i, layer := range all {
			if slices.Contains(layer, at) {
				return i, true
			}
		}
	}
	return 0, false
}

func within(dir, top string) bool { return dir == top || strings.HasPrefix(dir, top+"/") }

func family(a, b string) bool { return within(a, b) || within(b, a) }

// findCycle returns a way from a package back to itself, or nil. The compiler
// refuses one too, but only among the files that one system builds.
func findCycle(g graph) []string {
	done := map[string]bool{}
	var way []string
	var visit func(dir string) []string
	visit = func(dir string) []string {
		if at := slices.Index(way, dir); at >= 0 {
			return append(slices.Clone(way[at:]), dir)
		}
		if done[dir] {
			return nil
		}
		way = append(way, dir)
		for _, next := range g[dir] {
			if cycle := visit(next); cycle != nil {
				return cycle
			}
		}
		way, done[dir] = way[:len(way)-1], true
		return nil
	}
	for _, dir := range slices.Sorted(maps.Keys(g)) {
		if cycle := visit(dir); cycle != nil {
			return cycle
		}
	}
	return nil
}

// moduleRoot is the nearest directory above that has a go.mod.
func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, statErr := os.Stat(filepath.Join(dir, "go.mod")); statErr == nil {
			return dir
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		err = fs.ErrNotExist
	}
	t.Fatalf("find go.mod: %v", err)
	return ""
}

// readImports reads the import clauses of all Go files that are wanted.
func readImports(t *testing.T, root string, wanted func(name string) bool) graph {
	t.Helper()
	g := graph{}
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != root && hidden(entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || !wanted(name) {
			return nil
		}
		return g.addFile(root, name)
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// hidden are the directories that the go command leaves out as well.
func hidden(name string) bool {
	return name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

func (g graph) addFile(root, name string) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(root, filepath.Dir(name))
	if err != nil {
		return err
	}
	dir := filepath.ToSlash(rel)
	if _, ok := g[dir]; !ok {
		g[dir] = nil
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		imported = strings.TrimPrefix(imported, module+"/")
		if !slices.Contains(g[dir], imported) {
			g[dir] = append(g[dir], imported)
		}
	}
	return nil
}
