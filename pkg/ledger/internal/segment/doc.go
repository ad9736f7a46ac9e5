// Package segment knows the files of a ledger: their names, the lock on them, and how their lines are read.
//
// # Promise
//
// Readers see each line of both layouts and of the archives, in whole or as what it is: torn, too long, damaged. Memory is
// bounded whatever a file holds. No link and no pipe in the place of a file is followed or waited for. Who reads a list of
// segments that a rotation has changed is told so, and begins again ([UnlessRotated]).
//
// # Non-promise
//
// What a line says is not looked at here, nor whether the chain holds.
//
// # Files
//
// Everything is below .orchestration. The layout "single" has one file, agent_trace.jsonl. The layout "sessions" has
// trace/<id>.jsonl, a file for each session by its public id, and one for each process for what belongs to no
// session. Writers use one layout; readers always read both.
//
// archive/<time>-<hash>.jsonl.zst has lines that were moved out of either: zstd frames of at most 1 MiB of lines each, so
// that zstd -dc gives the lines (package framed has the details). The time is that of the first line, in UTC,
// 20060102T150405.000Z; the hash is the first 16 hex digits of the SHA-256 of the file's own bytes, as sha256sum shows
// it. An archive is never rewritten, so two branches of git never have different ones under one name.
//
// A writer holds an exclusive flock on the directory .orchestration itself while it writes, never while it flushes.
// state/torn-<time>.jsonl holds the end of a file that a crash tore.
package segment
