package undo

import (
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/change"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/brief"
)

// The keys by which the record of a command tells of files that have no content of their own; see pkg/hooks/trace.
const (
	detailLinks     = "links"
	detailSpecial   = "special"
	detailHardLinks = "hard_links"
)

// irreversible says why a change that a command made cannot be taken back; "" if nothing stands against it.
func (c recorded) irreversible(f fileChange) string {
	switch {
	case c.names(detailLinks, f.Path):
		return "it is or was a symbolic link, which undo does not make, change or remove"
	case c.names(detailSpecial, f.Path):
		return "it is or was a FIFO, a socket or a device, which undo does not make or remove"
	case f.rightsOnly() && !slices.ContainsFunc(c.files, func(f fileChange) bool { return !f.rightsOnly() }):
		return "only its owner changed, or its permissions, which the record does not have; undo cannot set them back"
	case f.Before.Hash == "" && f.Op != change.Created:
		return "its content before the change was never kept: it is secret, or too large, or nothing had read it before the command changed it"
	case f.After.Hash == "" && f.Op != change.Deleted:
		return "its content after the change was never kept (it is secret, or too large), so nobody can tell whether it has changed since"
	}
	return ""
}

// rightsOnly: the content is what it was, and so are the permissions as far as is known. Beside other changes such a one is
// passed over.
func (f fileChange) rightsOnly() bool {
	return f.Op == change.Modified && f.Before.Hash == f.After.Hash && f.Before.Hash != "" && f.Before.Mode == f.After.Mode
}

func (c recorded) names(key, path string) bool {
	return slices.Contains(brief.References(c.Entry, key), path)
}
