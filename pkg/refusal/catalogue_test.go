package refusal_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/refusal"
)

// Every constant has an entry with everything that an agent needs.
func TestCatalogueIsComplete(t *testing.T) {
	declared := constants(t)
	seen := map[refusal.Code]bool{}
	for _, e := range refusal.Catalogue() {
		check.That(t, !seen[e.Code], "%s stands twice", e.Code)
		seen[e.Code] = true
		check.That(t, e.Hint != "" && e.Occurs != "" && e.Next != "", "%s lacks a hint, an occasion or a next step: %+v", e.Code, e)
	}
	check.That(t, len(declared) == len(seen), "%d constants, %d entries", len(declared), len(seen))
	for _, code := range declared {
		check.That(t, seen[refusal.Code(code)], "%s has no entry", code)
	}
}

// constants reads the source, so that a constant without an entry is found.
func constants(t *testing.T) []string {
	t.Helper()
	file := check.Value(parser.ParseFile(token.NewFileSet(), "catalogue.go", nil, 0))(t)
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); ok && name.Name == "Code" {
			found = append(found, strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`))
		}
		return true
	})
	return found
}

func TestRefusalIsNeverWithoutCodeAndReason(t *testing.T) {
	if r := refusal.New(refusal.Busy, ""); r.Reason() == "" {
		t.Error("an empty reason stayed empty")
	}
	r := refusal.New("NO_SUCH_CODE", "why")
	check.That(t, r.Code() == refusal.InternalError && strings.Contains(r.Reason(), "NO_SUCH_CODE"), "%v", r)
	if r := refusal.From(errors.New("plain")); r.Code() != refusal.InternalError {
		t.Errorf("%v", r)
	}
	wrapped := fmt.Errorf("outer: %w", refusal.New(refusal.StaleFile, "x"))
	if r := refusal.From(wrapped); r.Code() != refusal.StaleFile {
		t.Errorf("%v", r)
	}
	_, err := json.Marshal(refusal.New(refusal.Busy, "x"))
	check.That(t, err != nil, "a refusal can be encoded without its class")
}

func TestChangedCopies(t *testing.T) {
	base := refusal.New(refusal.ScopeViolation, "x").With("path", "a")
	other := base.With("path", "b").Suggest("do %s", "this").WithHint("h").Deliver(refusal.Delivery{Path: "a"})
	if base.Detail("path") != "a" || base.Hint() != refusal.HintExpandScope || len(base.Delivered()) != 0 {
		t.Errorf("the original changed: %+v", base)
	}
	check.That(t, other.Detail("path") == "b" && other.Hint() == "h" && other.Suggestion() == "do this", "%+v", other)
	o := other.Object("destructive")
	check.That(t, o.Status == "error" && o.Classification == "destructive" && o.Details["path"] == "b" && o.Recoverable, "%+v", o)
}

// What an argument or a foreign error brings along does not make a refusal too
// large for an agent to take in, and cuts no character.
func TestRefusalsHaveABound(t *testing.T) {
	long := strings.Repeat("é", 300_000)
	o := refusal.New(refusal.InternalError, long).With("long", long).With("short", "x").Object("safe")
	if len(o.Error) > 21_000 || !strings.HasPrefix(o.Error, "éé") || strings.ContainsRune(o.Error, '\uFFFD') || !strings.Contains(o.Error, "600000 bytes") {
		t.Errorf("%d bytes: %s", len(o.Error), o.Error[len(o.Error)-60:])
	}
	check.That(t, o.Details["long"] == "left out: 600002 bytes" && o.Details["short"] == "x", "details %.200v", o.Details)
}
