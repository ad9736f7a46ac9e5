package corpus_test

import (
	"os"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// TestShellsUnderAttack makes the same attacks in a client's own shell, whose lines the hook makes run in the sandbox.
func TestShellsUnderAttack(t *testing.T) {
	underAttack(t, clientProgram(t), true, triedByClient)
}

// triedByClient reports whether an attack is made now: without ORCHESTRA_LONG one in eight, at full or at landlock, as one user.
func triedByClient(i int, level sandbox.Level, user bool) bool {
	switch {
	case check.Long():
		return true
	case user != (os.Getuid() != 0) || check.Short() && i%24 != 0:
		return false
	}
	return i%8 == 0 && level == sandbox.Full || i%8 == 4 && level == sandbox.Landlock
}

// byClients are the results, at none, that can be others in a client's shell than in the document.
func byClients() map[string][]string {
	return map[string][]string{
		// No hook is answered in a workspace that is another directory.
		"the workspace, parent of .orchestration, is renamed": {killed, stopped},
		// What cannot be recorded the client is told of with its next call.
		"the directory of the ledger is renamed":                                             {stopped},
		"the directory of the ledger is renamed and a copy without records put in its place": {stopped},
		// The parent is the process that runs the command, not the server.
		"kill -9 of the parent": {held},
	}
}
