// Package ledger keeps the append-only record of what was done in a workspace, and under which intent. It knows nothing of MCP.
//
// # Promise
//
// When [Ledger.Append] returns without an error, the record's line is whole in the file, linked to all heads that the
// file had, and with [DurabilityFull] it survives a power cut. Any number of goroutines and processes may append to
// one ledger; git may switch, merge and replace its files in between. [Verify] finds every edit and every removal of
// a record that some surviving record follows. Nothing is dropped silently: not a record, not a byte of a torn line.
//
// # Non-promise
//
// The chain has no key: who can write the file can write another one from the start, or change its heads. A record is appended
// after its mutation; what a crash in between leaves unrecorded is not this package's to know. Between git's look at the file and
// git's replacing it, an append can be lost as any edit would be; the writer looks again after its flush and repeats the append,
// which makes that window small and does not close it. The order of lines is not the order of events after a merge.
//
// # Packages
//
// Imports point down. Each owns what its doc comment describes.
//
//	ledger              Open: append, query, follow; what was lost
//	mend, verify        for people: repair, put back, resolve conflicts; check the chain and claims about it
//	locate              where the ledger of a workspace stands: in the tree or beside it
//	internal/query      the records that a filter takes
//	internal/union      lines of other copies
//	internal/index      where in the segments a filter has to look
//	internal/live       the file that lines are appended to; crashes
//	internal/rotation   how lines come into archives
//	internal/segment    the files, their locks, how their lines are read
//	record              what a record is: the format of a line, and of the chain
//
// Beside these, seal signs heads, journal keeps what is in flight, gitref and history deal with git, and agenttrace, brief,
// stats and trailer tell of records.
//
// # Writing
//
// A Ledger has one goroutine that writes. It takes what waits as one group, writes it under the lock on .orchestration,
// flushes without the lock, and answers all. A writer whose file was replaced after its write looks for its lines in the new
// file and in young archives, and writes again only those that are in neither. After a failed write or flush the Ledger is
// poisoned: it refuses with [ErrUnavailable] until [Ledger.Reopen].
package ledger
