package undo

import (
	"slices"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
)

// The keys by which the record of a command tells of files that have no
// content of their own; see pkg/hooks/trace.
const (
	detailLinks     = "links"
	detailSpecial   = "special"
	detailHardLinks = "hard_links"
)

// irreversible says why a change that a command made cannot be taken back; "" if nothing stands against it.
func (c change) irreversible(f fileChange) string {
	switch {
	case c.names(detailLinks, f.Path):
		return "it is or was a symbolic link, which undo does not make, change or remove"
	case c.names(detailSpecial, f.Path):
		return "it is or was a FIFO, a socket or a device, which undo does not make or remove"
	case f.rightsOnly() && !slices.ContainsFunc(c.files, func(f fileChange) bool { return !f.rightsOnly() }):
		return "only its owner changed, or its permissions, which the record does not have; undo cannot set them back"
	case f.Before == "" && f.Op != ledger.OpCreated:
		return "its content before the change was never kept: it is secret, or too large, or nothing had read it before the command changed it"
	case f.After == "" && f.Op != ledger.OpDeleted:
		return "its content after the change was never kept (it is secret, or too large), so nobody can tell whether it has changed since"
	}
	return ""
}

// rightsOnly: the content is what it was, and so are the permissions as far as is known. Beside other changes such a one is
// passed over.
func (f fileChange) rightsOnly() bool {
	return f.Op == ledger.OpModified && f.Before == f.After && f.Before != "" && f.BeforeMode == f.AfterMode
}

func (c change) names(key, path string) bool {
	switch paths := c.Detail[key].(type) {
	case []any:
		return slices.Contains(paths, any(path))
	case []string:
		return slices.Contains(paths, path)
	}
	return false
}
