package server_test

import (
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// Agents are told before they start which tools are other servers', in one line, and only where there are some.
func TestInstructionsTellOfOtherServers(t *testing.T) {
	t.Parallel()
	for of, c := range map[string]struct {
		servers []settings.Server
		want    string
	}{
		"none": {nil, ""},
		"some": {[]settings.Server{{Name: "one", Command: "x", Prefix: "one_"}, {Name: "two", Command: "x", Prefix: ""}, {Name: "big", Command: "x", Prefix: "big_", Show: "search"}},
			"7. Tools of other servers stand under the same law. Here are: one_*, those of two. search_tools finds, and call_tool calls, those of big.\n"},
	} {
		told := start(t, newWorkspace(t), func(o *server.Options) { o.Settings.Servers = c.servers }).connect().client.InitializeResult().Instructions
		check.That(t, strings.Contains(told, c.want) && strings.Contains(told, "7.") == (c.want != ""), "%s: %s", of, told)
	}
}
