// Package agenttrace writes ledger records as Agent Trace 0.1.0 records (github.com/cursor/agent-trace), for other tools
// to read.
//
// It promises that each line it gives is valid against the JSON Schema in section 6.1 of that specification, and a
// strict one also against the closed schema that is generated from schemas.ts, where objects have no keys but the
// specification's own. Nothing of a record is lost: what the closed schema has no place for moves to
// metadata.orchestra-mcp.moved, a tree of the same shape as the record, with null for elements of lists that had nothing
// to move. The same record gives the same bytes.
//
// It does not promise that what a record says is so: that is the ledger's to prove, and the exported line is no longer
// part of its chain. A line of the ledger that no version of this program wrote, such as one that was edited, is written
// anew from its known fields; one that Agent Trace cannot hold (an id that is no UUID) is ErrNotExportable.
//
// The specification wants paths from the root of the repository; these are relative to the workspace, which is mostly
// the same place.
package agenttrace
