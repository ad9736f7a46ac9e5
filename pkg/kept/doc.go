// Package kept keeps the contents that files had before and after a change, so that a change can be taken back and a
// line be followed through an edit from outside.
//
// # Promise
//
// What [Store.Put] was given is in its file when it returns, for every process: an undo right behind a change finds it.
// [Store.Get] gives a content only if its bytes have the id that was asked for, whatever the file says. The store stays
// below its size and age, the oldest content going first; one that is put again counts as new. The directory may be deleted
// at any time, also while a process writes into it, and several processes may share it.
//
// Nothing that is secret by [Options.Secrets] is kept: no content with a secret path, none that a secret file was seen to
// have ([Store.Deny]), and none while the rules are not known. What rules that come later cover is taken away by the next
// call that puts something or asks for it ([Store.Obey]), of each process that has the store open.
//
// # Non-promise
//
// Nothing here is needed: a content that is not kept is said not to be there. Nothing is flushed: a power cut can lose the
// contents of some seconds. An id is a git blob id, in most repositories SHA-1, for which two contents can be made to
// collide: who restores a file compares its SHA-256 with the record's.
//
// # Files
//
// .orchestration/cache/images/ID.zst: a skippable frame with the paths that had the content, with a NUL between each two (none,
// or the path "", where they are not all known), and one zstd frame of the raw bytes; ID is git's id of the blob with these
// bytes, 40 or 64 hexadecimal digits. rules: the digest of the secret rules that all contents were last held to; without it, or
// with another one, the next process looks at each, and removes it where its paths are not known. The directory is flat: at 4 KiB
// a file at least, its size bounds their number. A file appears under its name by a rename and is never written again. Names that
// begin with ".new-" are being written, or were left by a process that died; those are removed when they are an hour old. Files
// have mode 0600 and directories 0700. A file's modification time is when its content was last put.
package kept
