// Package blame says for each line of a file which ledger record wrote it, and how sure that is.
//
// # Promise
//
// A line is given to the newest record that touched it. It is given to a record only along a way that was checked: the
// record's own hunks where the hash after one change is the hash before the next, and a comparison of contents where
// they do not meet. The same input gives the same answer. [File] is pure: it reads nothing but its arguments.
//
// # Non-promise
//
// An untracked line is not a human's: nothing in the ledger explains it, and that is all. Where a record's hunks could
// have been cut otherwise (a closing brace among its like), the cut that was recorded decides. A copy that leaves its
// original in place is new text. What the ledger's chain proves is the ledger's to say: blame believes the records
// that it is given.
//
// # Method
//
// The states that a file had are the nodes of a graph, named by path and hash; a record leads from the one before it to
// the one after it. From the present content the lines go backward:
//
//  1. If a record made this very content, its hunks tell which lines it wrote; these are answered. The others go on to
//     the content before it, under their old numbers, and to the old path of a move.
//  2. If none did, somebody else changed the file here: a gap. The lines are compared with the state that the newest
//     earlier record left. Equal lines go on from there, those that differ in white space alone as reformatted,
//     and blocks of at least three lines that stand elsewhere as moved.
//  3. After a merge of branches there are several such states, none an ancestor of another. The one that explains most
//     lines comes first; what is left goes to the others, but only where a block or an unmistakable line says so.
//
// A state's content is what contents gives for its blob id. Where that is not known it is pieced together: an older known
// content, with the hunks since applied to it; the lines that those added are recognised by their marks, or in blocks by the
// hashes of their ranges. What remains unknown matches nothing. Lines that can be meant by several places go where they stand
// as far from unmistakable lines as they did then, else they stay untracked. A line of a record stands once: what else seems
// to be it is a copy.
//
// Following lines through successive differences, and moved blocks as an extra step, are the way of git blame -M
// (builtin/blame.c); that context and content together find lines where neither does alone is Reiss, "Tracking source
// locations" (ICSE 2008) and Asaduzzaman et al., "LHDiff" (ICSM 2013).
//
// Records are in the order of their segments; the chain, and contents that meet, correct it where segments are of several
// machines. What an undo or a retraction brought back belongs to who wrote it first.
//
// # Git
//
// [Workspace] adds what git knows: contents of blobs, which count only with the hash that the record has, and for lines that are
// still unexplained the commit, path and line where git blame -w finds them. The records of that path until that commit are
// then asked in the same way; a path that is no more is an older name of the file, as is one with the same last name that
// records tell of. For what is left and can have been recorded, git is asked for moves (-M -C). What it cannot tell, as in a
// clone of one commit, is looked for by the marks of what records wrote to other files.
package blame
