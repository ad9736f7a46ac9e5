// Package trailer says in a commit's message under which intents its content was made.
//
// # Promise
//
// [Staged] names an intent if the ledger has a change under it that lies between the file in the commit's parent and the
// file as staged. A file's records are its steps, in the order of the ledger, from content to content by git's blob ids:
//
//   - The last step that ends at the staged content is the last that counts. The first that counts is the one behind the
//     last step that ended at the parent's content, or the last that began with it. If no step has the parent's content,
//     only those count that lead to the staged content without a gap.
//   - If no step ends at the staged content (somebody edited it, or only a part is staged), a step behind the parent's
//     content counts if lines that it wrote still stand in the staged content as a block.
//   - A step that another of these took back does not count, nor does one that did nothing but take such back.
//
// A file that a merge takes from one of its parents as it is does not count: its trailers are in that branch. What
// nobody recorded has no trailer.
//
// [Add] puts the lines into the message through git interpret-trailers, each once. A message that would make git give
// up the commit, empty or an untouched template, stays as it is.
//
// # Non-promise
//
// A trailer is a pointer into the ledger, not a proof: who writes the message can write it too. Only regular files
// count. A trailer that a message has is never taken out, so an amended commit keeps those of what it dropped.
package trailer
