// Package live appends to one file of the ledger.
//
// # Promise
//
// A [File] knows the heads of what stands in it, whoever wrote that: other processes, git, an editor. [File.Append] links its
// lines to all of them and writes them in one write; what fails is cut off again. [File.Heal] makes sure of what a failed
// flush left.
//
// # Non-promise
//
// The caller holds the lock, and does not append to a file after a failure without Heal.
//
// # Crash
//
// A process that dies in a write leaves a last line without newline. The next append, under the lock, ends it with a
// newline if it is whole, and else moves it to state/ and logs where. A failed write is cut off again. After a failed
// write or flush the ledger takes nothing until Heal: the file is opened
// anew, what was flushed before must still be there, what came after must be records, and is written once more before
// it is flushed, because a failed flush can leave pages marked clean that never reached the disk.
package live
