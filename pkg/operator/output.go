package operator

import (
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/server"
)

// maxTail bounds the output that Output gives, in bytes.
const maxTail = 16 << 10

// Output is the end of what a command of a principal has printed so far, by the id of its output. It is "" where nothing is
// kept.
func (w *Workspace) Output(id, principal string) string {
	kept := command.NewArtifacts(w.Root, server.OutputDir, 0)
	for _, owner := range []string{"", server.OperatorPrincipal, principal} {
		whole, err := kept.For(owner).ReadBytes(id, 0, 1)
		if err != nil {
			continue
		}
		tail, err := kept.For(owner).ReadBytes(id, max(0, whole.TotalBytes-maxTail), maxTail)
		if err == nil {
			return tail.Text
		}
	}
	return ""
}
