package clientsetup_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/internal/clientsetup"
)

// TestDocs holds docs/clients.md to what is written: each file and each tool that is taken away stands there.
func TestDocs(t *testing.T) {
	text := check.Value(os.ReadFile("../../docs/clients.md"))(t)
	docs := string(text)
	for _, client := range clientsetup.Names() {
		plan := newPlace(t).plan(client)
		check.That(t, strings.Contains(docs, "\n| "+plan.Title+" |"), "docs/clients.md has no row for %s", plan.Title)
		for _, file := range plan.Files {
			name := filepath.ToSlash(file.Name)
			check.That(t, strings.Contains(docs, "`"+name+"`") || strings.Contains(docs, "`"+filepath.Base(name)+"`"),
				"docs/clients.md does not name %s", name)
			var settings struct {
				Permissions struct{ Deny []string }
			}
			_ = json.Unmarshal(file.Fragment, &settings) // not each file is JSON
			for _, tool := range settings.Permissions.Deny {
				check.That(t, strings.Contains(docs, "`"+tool+"`"), "docs/clients.md does not name %s", tool)
			}
		}
	}
}
