package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/doctor"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/catalogue"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/fleet"
)

// TestServers: what is wrong with other servers is told of each, with the command that helps; without any, nothing is.
func TestServers(t *testing.T) {
	o, root := fresh(t)
	_, found := find(doctor.Run(context.Background(), o), "servers", "")
	check.That(t, !found, "servers are told of where there are none")
	check.OK(t, errors.Join(os.MkdirAll(o.UserDir, 0o700),
		os.WriteFile(filepath.Join(o.UserDir, "config.yaml"), []byte("servers: [{name: a, command: sh}, {name: b, command: no-such-program}]\n"), 0o600),
		root.WriteFile(".orchestration/config.yaml", []byte("servers: [{name: w, command: sh}, {name: v, url: 'https://x.example'}]\n"), 0o644)))
	d := upstream.Definition{Name: "a", Prefix: "a_", Findings: upstream.Ask}
	book := catalogue.Open(fleet.FilesOf(o.UserDir, o.Dir, d).Pins)
	for _, description := range []string{"one", "another"} {
		listed := json.RawMessage(`{"name":"x","description":"` + description + `","inputSchema":{"type":"object"}}`)
		check.Value(book.Observe(d, catalogue.Listing{Tools: []json.RawMessage{listed}}))(t)
	}
	report := doctor.Run(context.Background(), o)
	for _, want := range []doctor.Finding{
		{Area: "servers", Status: doctor.Warn, Message: "Server a has 1 tool in quarantine: x (changed).", Command: "orchestra-mcp servers trust a"},
		{Area: "servers", Status: doctor.Fail, Message: "Server b cannot be used"},
		{Area: "servers", Status: doctor.Warn, Message: "not started until then: w (sh), v (https://x.example).", Command: "orchestra-mcp trust"},
	} {
		f, found := find(report, want.Area, want.Message)
		check.That(t, found && f.Status == want.Status && f.Command == want.Command && f.Remedy != "", "%q: %+v", want.Message, f)
	}
	_, twice := find(report, "settings", "servers = ")
	check.That(t, !twice, "the settings tell of the servers as well")
	check.OK(t, errors.Join(os.WriteFile(filepath.Join(o.UserDir, "config.yaml"), []byte("servers: [{name: c, command: sh}]\n"), 0o600), root.Remove(".orchestration/config.yaml")))
	f, _ := find(doctor.Run(context.Background(), o), "servers", "")
	check.That(t, f.Status == doctor.OK && strings.HasPrefix(f.Message, "1 server stands behind this one; not started yet"), "%+v", f)
}
