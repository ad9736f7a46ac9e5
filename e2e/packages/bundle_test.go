package packages_test

import (
	"archive/zip"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// TestBundle opens the bundle with the tool of its format, and starts what its manifest says.
func TestBundle(t *testing.T) {
	mcpb := tool(t, "mcpb")
	needs(t, "node")
	opened := filepath.Join(t.TempDir(), "a bundle")
	does(t, home(t, exec.Command("node", mcpb, "unpack", made(t, packed, "*.mcpb"), opened)))
	does(t, home(t, exec.Command("node", mcpb, "validate", filepath.Join(opened, "manifest.json"))))
	var manifest struct {
		Server struct {
			EntryPoint string `json:"entry_point"`
			Config     struct {
				Command string
				Args    []string
			} `json:"mcp_config"`
		}
	}
	check.OK(t, json.Unmarshal(check.Value(os.ReadFile(filepath.Join(opened, "manifest.json")))(t), &manifest))
	check.OK(t, func() error { _, err := os.Stat(filepath.Join(opened, manifest.Server.EntryPoint)); return err }())
	dir := workspace(t)
	fill := strings.NewReplacer("${__dirname}", opened, "${user_config.workspace}", dir)
	var args []string
	for _, arg := range manifest.Server.Config.Args {
		args = append(args, fill.Replace(arg))
	}
	check.That(t, !strings.Contains(strings.Join(args, ""), "${"), "not all is filled in: %q", args)
	// Some clients unpack without modes.
	for _, file := range check.Value(filepath.Glob(filepath.Join(opened, "server", "*")))(t) {
		check.OK(t, os.Chmod(file, 0o644))
	}
	serve(t, home(t, exec.Command(fill.Replace(manifest.Server.Config.Command), args...))).works(dir)
}

// TestRegistryEntry holds server.json to the registry's own schema, which its module carries.
func TestRegistryEntry(t *testing.T) {
	entry := made(t, packed, "server.json")
	var module struct{ Dir string }
	download := exec.Command("go", "mod", "download", "-json", "github.com/modelcontextprotocol/registry@v1.8.9")
	download.Dir = t.TempDir()
	check.OK(t, json.Unmarshal([]byte(does(t, download)), &module))
	var server struct {
		Schema   string `json:"$schema"`
		Packages []struct {
			RegistryType, Identifier, FileSha256, RuntimeHint string
			RuntimeArguments                                  []struct{ Value string }
		}
	}
	raw := check.Value(os.ReadFile(entry))(t)
	check.OK(t, json.Unmarshal(raw, &server))
	revision := filepath.Base(filepath.Dir(server.Schema))
	schema := check.Value(jsonschema.NewCompiler().Compile(filepath.Join(module.Dir, "internal", "validators", "schemas", revision+".json")))(t)
	check.NoError(t, schema.Validate(check.Value(jsonschema.UnmarshalJSON(strings.NewReader(string(raw))))(t)))
	sums := string(check.Value(os.ReadFile(filepath.Join(packed, "SHA256SUMS")))(t))
	for _, one := range server.Packages {
		words := []string{one.RuntimeHint}
		for _, argument := range one.RuntimeArguments {
			words = append(words, argument.Value)
		}
		check.That(t, one.RegistryType != "npm" || slices.Equal(append(words, one.Identifier), byNPX().Words()), "clients start npx by %q, and setup by %q", words, byNPX().Words())
		check.That(t, one.RegistryType != "mcpb" || strings.Contains(sums, one.FileSha256+"  "+filepath.Base(one.Identifier)), "%v is not among the checksums", one)
	}
}

// TestSameBytes packs a program twice, at two places: a small one, since compressing ours takes most of a test's time. All that
// is packed has the time that was asked for.
func TestSameBytes(t *testing.T) {
	bundle := check.Value(zip.OpenReader(made(t, packed, "*.mcpb")))(t)
	defer bundle.Close()
	for _, file := range bundle.File {
		check.Equal(t, file.Modified.Unix(), 1_700_000_000)
	}
	source, small := filepath.Join(t.TempDir(), "small.go"), filepath.Join(t.TempDir(), "small")
	check.OK(t, os.WriteFile(source, []byte("package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(`{\"version\": \"v1.2.3\"}`) }\n"), 0o600))
	does(t, exec.Command("go", "build", "-o", small, source))
	sums := func() string {
		dir := filepath.Join(t.TempDir(), "out")
		pack := exec.Command("go", "run", "./packaging", "-binary", small, "-image=false", "-out", dir)
		pack.Dir, pack.Env = "../..", append(os.Environ(), epoch)
		does(t, pack)
		return string(check.Value(os.ReadFile(filepath.Join(dir, "SHA256SUMS")))(t))
	}
	first := sums()
	contains(t, first, "1.2.3.mcpb", "1.2.3.tgz")
	check.Equal(t, sums(), first)
}
