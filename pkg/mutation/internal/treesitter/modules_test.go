package treesitter_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/treesitter"
)

// TestModulesAreTheOnesSummed holds what is embedded to the sums that
// make grammars-check builds again from the sources.
func TestModulesAreTheOnesSummed(t *testing.T) {
	sums := readSums(t)
	if len(sums) != len(treesitter.Languages()) {
		t.Errorf("%d sums for %d languages", len(sums), len(treesitter.Languages()))
	}
	for _, language := range treesitter.Languages() {
		binary := check.Value(treesitter.Module(language))(t)
		sum := sha256.Sum256(binary)
		if got := hex.EncodeToString(sum[:]); got != sums[language+".wasm"] {
			t.Errorf("%s: the embedded module has the sum %s, SHA256SUMS says %q", language, got, sums[language+".wasm"])
		}
	}
}

func readSums(t *testing.T) map[string]string {
	t.Helper()
	content := check.Value(os.ReadFile(filepath.Join("modules", "SHA256SUMS")))(t)
	sums := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(content)); lines.Scan(); {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok {
			t.Fatalf("SHA256SUMS: %q", lines.Text())
		}
		sums[name] = sum
	}
	return sums
}

// A module reaches only what it imports: no file, no clock, nothing but the question whether to stop.
func TestModulesReachNothing(t *testing.T) {
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer runtime.Close(ctx)
	for _, language := range treesitter.Languages() {
		binary := check.Value(treesitter.Module(language))(t)
		module := check.Value(runtime.CompileModule(ctx, binary))(t)
		for _, imported := range module.ImportedFunctions() {
			from, name, _ := imported.Import()
			check.That(t, from+"."+name == "host.stop", "%s imports %s.%s", language, from, name)
		}
		memories := module.ImportedMemories()
		check.That(t, len(memories) == 0, "%s imports a memory", language)
	}
}
