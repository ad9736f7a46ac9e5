// Package journal keeps what is in flight: each mutation is written here, with the ledger record that it will have,
// before it changes anything.
//
// # Promise
//
// When [Journal.Begin] returns without an error, the entry survives whatever happens next: the end of the process
// and, with Options.Durable, a power cut. Whoever opens the workspace later finds it with [Journal.Orphans] if, and
// only if, the process that wrote it is gone, and is then the only one who has it. An entry that was not written to
// its end is never given out; its mutation cannot have begun.
//
// # Non-promise
//
// What became of the mutation is not known here; the files tell. Deleting the files of this package while a process
// runs loses what it has in flight. Where the system has no file locks, entries of other processes that still live
// cannot be told from those of dead ones: there, only one process may serve a workspace.
//
// # Files
//
// .orchestration/state/inflight/ has a file for each mutation that a process has in flight at one time. The file is
// made once, locked (flock) for the life of the process and used again for one mutation after the other, so that in
// the steady state an entry costs one write in place and one flush of data. The lock is the sign of life: the kernel
// gives it back however the process ends. While a process takes entries over, it holds the lock of the directory too.
//
//	inflight 1 <state><care> <length> <sha256>\n   length: of the body, ten digits; sha256: of the body, hex
//	<one JSON object: pid, place, began, files, before, ends>\n          the body
//	<the record's lines, with an empty prev>\n
//
// state is P (in flight), D (in doubt: a record may be in the ledger although its mutation is being taken back), R (it
// could not be taken back everywhere), B (both) or - (nothing in flight). care is S from when a process takes
// over what a dead one left, else -. What follows the body is left over from longer entries and means nothing.
// A body that does not have its checksum was never flushed. place is the boot of the machine and the pid namespace: there, a
// lock whose pid is gone is that of a child that the process was just making, and is waited for.
package journal
