// Package workspace gives confined access to one directory tree: paths that cannot lead out of it, reads
// that cannot block, and writes that cannot lose what somebody else wrote.
//
// # Promise
//
// A [Target] is one path as a check saw it. Symbolic links have been resolved component by component,
// absolute links that point into the workspace included, and the target is bound to the open descriptor of
// its nearest existing parent. Whatever is done through it later happens in that very directory or is
// refused with [ErrChangedDir], also if a link has taken the directory's place.
//
// A change is a compare-and-swap. [Workspace.Prepare] locks the paths, checks that each file has the
// expected hash, and writes the new contents to temporary files: nothing is visible yet.
// [Prepared.Commit] waits until they are on disk and makes all changes visible, or none. The [Committed] then holds the before-images (the
// displaced inodes themselves) and the locks until [Committed.Close], so that a caller can write its
// journal before Commit, its ledger before Close, and take everything back with [Committed.Rollback].
//
// A [Grip] holds what stands at a path together with its directory, by descriptors, for who must take away or put right
// what a look has found: it is that very file, directory or device which is moved, removed or given permissions, or
// nothing.
//
// # How a file is replaced
//
//  1. lock the resolved path in this process, then the file's inode between processes (flock), and look
//     whether the path still leads to that inode;
//  2. take a read lease on it (Linux): from here on nobody can open it for writing unnoticed; hash it;
//  3. write the new content to a temporary file, with the old one's mode, owner and extended attributes,
//     flush it, lock it and lease it too: whoever opens it at the path later finds it locked;
//  4. exchange the two names (renameat2 RENAME_EXCHANGE);
//  5. look at what came out. Another inode means that somebody renamed a file of his own into place in
//     between: exchange back, and look again at what comes out, in a bounded loop;
//  6. flush the directory, then ask whether the lease is still unbroken. If not, a program wants to write into
//     the displaced inode and is made to wait by the kernel: exchange back, then let it go on;
//  7. at Close ask once more, then remove the displaced inode.
//
// The lease is taken before the exchange, not only on the displaced inode after it, so our content never
// stands at the path on probation when a writer is already there, the content is read once, and the time in
// which a late writer is noticed spans the directory flush.
//
// If a program already has the file open for writing, the lease is waited for, 2 s at most, then it is
// [ErrBusy] and nothing has happened. If a lease cannot be had at all (the file belongs to another user, or
// the file system has none), the content is hashed again after the exchange, after the flush and, if its
// time stamp or size moved, at Close; the result carries a warning. Where names cannot be exchanged, the old
// inode gets a second name and the new file is renamed over it: this is said once in the log.
//
// Content of others is never removed: what cannot be put back is kept beside the temporary file under a name
// that ends in ".kept", and the error names it.
//
// Creating uses RENAME_NOREPLACE (or link), deleting and moving rename the file away and then verify what it
// was. Files of one directory do not wait for each other.
//
// # Cost
//
// Of the steps above one file flush and one directory flush wait for the disk, which is what a bare write, flush, rename, flush
// costs as well (BenchmarkReplace shows both). A further file in the same call adds its own flush, in parallel with the others,
// and shares the directory's.
//
// # Not promised
//
// A writer that has looked the path up before the exchange and announces itself to the kernel only after Close is not
// seen: a process truncating the file in place at random moments lost 1 of 42,000 writes with WithDurability(OS), none
// of 6,000 with flushes; one that renames lost none of 12,000. Nor is, without a lease, a writer that keeps the
// displaced inode open longer than that. A hard link is broken by an exchange: the other names keep the old content,
// and the result warns. Reading does not lock: a file that is being written in place can be read half-written; its hash
// then matches nothing later. Off Linux the weaker steps above are used throughout. Temporary files left by a killed
// process are removed by [Abandoned.Sweep] only, because one of them can be a before-image that the journal names;
// their names are .orchestra-<token>-<random>.tmp, and .orchestration/state/tmp/<token>.owner is locked while their
// process lives, and says which process that is and in which directories it made them beside their targets.
package workspace
