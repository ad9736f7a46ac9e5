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
		binary, err := treesitter.Module(language)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(binary)
		if got := hex.EncodeToString(sum[:]); got != sums[string(language)+".wasm"] {
			t.Errorf("%s: the embedded module has the sum %s, SHA256SUMS says %q", language, got, sums[string(language)+".wasm"])
		}
	}
}

func readSums(t *testing.T) map[string]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("modules", "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
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

// A module reaches only what it imports: no file, no clock, nothing but the
// question whether to stop.
func TestModulesReachNothing(t *testing.T) {
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer runtime.Close(ctx)
	for _, language := range treesitter.Languages() {
		binary, err := treesitter.Module(language)
		if err != nil {
			t.Fatal(err)
		}
		module, err := runtime.CompileModule(ctx, binary)
		if err != nil {
			t.Fatal(err)
		}
		for _, imported := range module.ImportedFunctions() {
			if from, name, _ := imported.Import(); from+"."+name != "host.stop" {
				t.Errorf("%s imports %s.%s", language, from, name)
			}
		}
		if memories := module.ImportedMemories(); len(memories) > 0 {
			t.Errorf("%s imports a memory", language)
		}
	}
}
