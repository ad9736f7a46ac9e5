package sandbox

import "github.com/intentgov/orchestra-mcp/pkg/command/sandbox/internal/probes"

// seatbeltProgram is a part of macOS: nobody but Apple can change it.
const seatbeltProgram = "/usr/bin/sandbox-exec"

// The probes run in this very program, started once more, as the helper of the level full does: whatever a program of another does
// in its main function, it must not come before.
func init() { probes.Main() }
