package server_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/pkg/server"
	"github.com/intentgov/orchestra-mcp/pkg/settings"
)

// It ends with its intent, however that ends, and with the server; both ends
// are recorded.
func TestBackgroundEndsWithItsIntentAndTheServer(t *testing.T) {
	t.Parallel()
	dir := newWorkspace(t)
	b := start(t, dir, func(o *server.Options) { o.Settings.Sandbox = settings.Off }).connect() // process ids are those of the test
	one, two := b.selects("INT-001"), b.selects("INT-005")
	mark := filepath.Base(dir) + strconv.Itoa(os.Getpid())
	gone := func(name string) func() bool {
		return func() bool { return running(mark+name) == "" }
	}
	for name, session := range map[string]string{"one": one, "two": two} {
		b.ok("execute_command", args{"session": session, "command": ": " + mark + name + "; sleep 100; :", "background": true})
		b.eventually("the command runs", func() bool { return !gone(name)() })
	}
	write(t, dir, ".orchestration/active_intents.yaml", strings.Replace(intentsYAML, "IN_PROGRESS", "BLOCKED", 1))
	b.eventually("the command of the blocked intent ends", gone("one"))
	if gone("two")() {
		t.Error("the other intent's command has ended too")
	}
	b.close()
	if !gone("two")() {
		t.Error("a command outlives the server")
	}
	records := strings.Join(fileLines(t, dir), "\n")
	for _, want := range []string{`"ended_by":"its intent INT-001 is BLOCKED"`, `"ended_by":"ended with the server"`} {
		if !strings.Contains(records, want) {
			t.Errorf("no record has %s:\n%s", want, records)
		}
	}
}
