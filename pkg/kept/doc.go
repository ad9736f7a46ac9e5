// Package kept keeps the contents that files had before and after a change, so that a change can be taken back and a
// line be followed through an edit from outside.
//
// # Promise
//
// What [Store.Put] was given is in a file when it returns, for every process: an undo right behind a change finds it.
// [Store.Get] gives a content only if its bytes have the id that was asked for, whatever the file says. The store stays
// below its size, and within a sixteenth above its age, the oldest contents going first, many at a time; one that is put again
// counts as new. The directory may be deleted at any time, also while a process writes into it, and several processes may share
// it.
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
// .orchestration/cache/images/NAME.pack begins with a table of 4096 slots of 64 bytes, each zero until it is used: the length of
// the digest that is the content's id, git's of the blob with these bytes (20 or 32; 255 where the content was taken out), seven
// zeros, offset and length of the content in the pack, its time in nanoseconds since 1970 (three little-endian numbers of eight
// bytes), and the digest. A content is a skippable frame with the paths that had it, with a NUL between each two (none, or the
// path "", where they are not all known), and one zstd frame of the raw bytes. What lies behind the contents that slots name was
// being written when a process died. A content's time is when it was last put; where an id is there twice, the later slot counts.
//
// One process adds to a pack, with an exclusive flock on it, contents first and then their slots: nobody finds half of one. A
// pack that nobody holds is gone on with, until it has 4096 contents or a sixteenth of the size, or is a sixteenth of the age
// old; it goes as a whole, when its newest content is too old or room is needed. Every process takes secrets out of every pack:
// it writes zeros over them, and then 255 into their slots.
//
// rules: the digest of the secret rules that all contents were last held to; without it, or with another one, the next process
// looks at each, and takes it out where its paths are not known. Names that begin with ".new-" are being written, or were left
// by a process that died; those are removed when they are an hour old. Files have mode 0600 and directories 0700.
package kept
