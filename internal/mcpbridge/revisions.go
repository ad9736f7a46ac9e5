package mcpbridge

import (
	"slices"

	"github.com/mark3labs/mcp-go/mcp"
)

// ProtocolRevisions lists the revisions of the protocol that are spoken, the newest first.
func ProtocolRevisions() []string { return slices.Clone(mcp.ValidProtocolVersions) }
