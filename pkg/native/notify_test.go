package native_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/approval"
	"github.com/intentgov/orchestra-mcp/pkg/hooks/external/notify"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// The operator is told of what a client's own tool asks for, once; it can be approved, and not edited.
func TestOperatorIsToldOfAClientsCall(t *testing.T) {
	posted := make(chan notify.Document, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var d notify.Document
		check.NoError(t, json.NewDecoder(r.Body).Decode(&d))
		posted <- d
	}))
	defer hook.Close()
	w := newWorld(t, func(o *server.Options) {
		o.Settings.Approvals.ScopeViolation = settings.Ask
		o.Settings.Approvals.Notify = []settings.Notice{{URL: settings.URL(hook.URL)}}
	})
	w.alone = true
	w.uses("INT-001")
	call := args{"file_path": w.at("docs/n.md"), "content": "x\n"}
	for range 2 {
		check.Equal(t, w.pre("Write", call).code(), "APPROVAL_REQUIRED")
	}
	d := <-posted
	root := check.Value(os.OpenRoot(w.dir))(t)
	defer root.Close()
	r := check.Value(approval.Open(root, approval.Options{UserDir: w.options.UserDir}).Get(d.ID))(t)
	check.That(t, d.Tool == "write_to_file" && d.Intent == "INT-001" && d.Diff != "" && d.Workspace == w.dir, "%+v", d)
	_, err := approval.EditableOf(r)
	check.Is(t, err, approval.ErrNotEditable)
	w.end()
	check.Equal(t, len(posted), 0, "told again")
}
