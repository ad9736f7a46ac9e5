package rule_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/rule"
)

var update = flag.Bool("update", false, "write the table of fields into docs/rules.md")

const (
	page      = "../../docs/rules.md"
	tableHead = "| field | type | what it is |\n| --- | --- | --- |\n"
)

// TestDocumentHasTheFields keeps the table of docs/rules.md to the catalogue.
func TestDocumentHasTheFields(t *testing.T) {
	data := check.Value(os.ReadFile(page))(t)
	var table strings.Builder
	for _, f := range rule.Fields() {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", f.Name, f.Type, f.Doc)
	}
	before, rest, ok := strings.Cut(string(data), tableHead)
	check.Must(t, ok, "the page has no table of fields")
	_, after, _ := strings.Cut(rest, "\n## ")
	want := before + tableHead + table.String() + "\n## " + after
	if want == string(data) {
		return
	}
	check.Must(t, *update, "docs/rules.md does not have the fields as they are: go test ./pkg/rule -run Document -update")
	check.OK(t, os.WriteFile(page, []byte(want), 0o644))
}
