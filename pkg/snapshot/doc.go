// Package snapshot finds out what a command changed in a workspace.
//
// # Promise
//
// A [Keeper] keeps the last state of the tree: of each entry what lstat says, and of files and links the hash of their content
// as far as it was read; for a file that takes about a hundred bytes. [Keeper.Begin] brings it up to date before a command, and
// [Window.End] looks at the tree after it; what differs is the command's. What changed between two commands is nobody's. Ignored
// files count like all others.
//
// Where the kernel tells of changes (inotify, on file systems of this machine), the look before a command is only at the
// directories that it told of, and at those where it cannot tell: with files that have several names, or whose content is not
// known. If it told of too much to keep, if mounts changed, or if a command runs, also of another server, the look is at
// everything.
//
// The look after a command is at everything too, as commands have ways around the notices: a name elsewhere for a file, a process
// that goes on, an open file from somebody. Of one that had none ([Window.Enclosed]), and that ran alone, it is where the
// kernel told of something, if that is all that there was:
//   - It tells of each directory, and of each file that is opened in one (fanotify): who writes a file has opened it, also
//     where the notice of the write or of the closing comes later, or never, as for a mapping. The last look left nothing out.
//   - There were not more notices than the kernel keeps, and no mounts changed.
//
// Where nobody tells, as in git's store and in a directory that was just made, such a command can do nothing unseen: it gave no
// file a second name, and what has one of before is looked at each time. So a file comes there only by a move, of which the
// directory told that it left; a directory that is moved goes on telling of what is in it; and what came to stay is all read.
//
// A user has a bounded number of watches. Half of it is taken (fs.inotify.max_user_watches), and as many of fanotify's; where
// there are none left for others, half of those is given back. What is not watched is looked at each time, and then so is
// everything after a command.
//
// A content is compared, not only its time: an entry whose stat differs, or whose time of change is so near to the last walk
// that a later change could have the same, is read again. A file that was written and written back did not change; one whose
// mode or owner changed did. Setting times back (touch -r) hides nothing, as nobody can set the time of change. Of what is out
// of scope it is told that it was touched ([Difference.Touched]), as by an extended attribute.
//
// While a page of a file is dirty, stores through a mapping change nothing but the content. What is read while commands run, of
// files that changed since the first of them began, is therefore read again at the next look, unless nobody had the file open for
// writing: what maps it keeps it open. Linux tells that on file systems of this machine, but not on overlays, and only of files
// of the server's own user or with CAP_LEASE; elsewhere all of these files are read again at each look. Of those that are more
// than a walk may read, it is said ([Difference.Gaps]). The commands of other processes are known from [Options.Elsewhere].
//
// A walk never leaves the tree: directories are opened one name below the other, and no link is followed. It never blocks on
// what it finds: FIFOs, sockets and devices are not opened. It reads a bounded amount, goes [workspace.MaxDepth] directories
// deep and keeps a million entries at most. What it did not look into is said ([Difference.Gaps]). A directory that is closed to
// its own user while a command runs is opened again for its owner; one that was closed before is left so.
//
// # What is left out
//
// In .orchestration what the server itself writes all the time (state/, cache/, agent_trace.jsonl, trace/, archive/,
// intent_map.md). In .git, at any depth, everything but what makes git run programs or look elsewhere and what says what the
// history is (see area.go): so neither objects nor the index. Of the objects, the logs and the branches of remotes
// [Keeper.GitStore] tells what is gone or changed, up to a bound. Temporary files of the server's own changes.
//
// # Who changed what
//
// What the server's own tools wrote while a command ran is known by their hashes ([Keeper.Writing]) and is not the command's. If
// a file is neither what a tool left nor what it was before, the command's change is what lies between the tool's content and
// the present one. Changes that a tool's write covered are not seen.
//
// Two commands that overlap share the changes of the time in which both ran. A change stands in one record only: that of the
// command in whose scope it is, where this tells; else that of the first to end. It is marked ([Change.Shared]). The commands of
// other processes are known from [Options.Mark].
//
// A change out of the scope of every command that ran is nobody's ([Change.Nobodys]): whoever made it may not. What is new by
// such a one stays in the account of each that can have made it until it is gone, so that the last of them finds it. A file that
// stands at a new path, and whose old one has something else now, was not made by anybody ([Change.Was]); nor was one with a
// single name that a look finds at two paths, because somebody exchanges directories meanwhile.
//
// # Before-images
//
// A file's content before the command is known where it was read before: at the first walk files are read until the budget of the walk
// is used up, at later ones those that are new or changed, and those that the budget left. Contents that git seems to have are not
// kept; others go to [Options.Contents], within a budget. What git or the images give back is believed only by its SHA-256.
//
// Of what is secret ([Options.Secrets]) the hash is held in memory, to see a change of it, and nothing else: neither its bytes,
// nor on disk its hash, from which a short secret can be guessed. The same goes for another file with the content that a secret
// one has or had. In a difference it is marked ([Content.Secret]).
//
// # After a kill
//
// The state that a command began from is saved ([Window.Saved], [Recover]): a base, which is written seldom, and what has
// changed since it was written, which goes with the command's entry in the journal. What [Recover] finds may be the work of
// anybody who changed files since.
//
// .orchestration/state/snapshots/NAME.base has a line "snapshot 1 <sha256 of the rest, hex>\n", then a gob stream of one value
// for each entry of the tree. The process that made it holds a lock on it (flock) for its life; one that nobody holds is removed
// when nothing is left to settle.
//
// # Non-promise
//
// Extended attributes are not compared: that something was touched is all that is known. Not seen are: on file systems that do
// not note writes through a shared mapping (tmpfs, where the page was read before it was written), such a write, if nothing
// else changed the file since the first of the commands that run began; one to a file whose content is not known, as it is too
// large to be read, if its time of change is that of a write which was seen; what a direct read (O_DIRECT) from a slow disk
// puts into a mapping that was given up while it was under way. Another server's command is not known of while its ledger is
// degraded and its journal cannot be written, nor of one that began and ended between two looks. Where the kernel's notices
// are used, what another program did, and they do not tell of, is taken for the work of the command after which everything is
// looked at: what it wrote through a shared mapping of a file that it still holds open, or by a new name of a file that is gone
// or outside of the tree, and flags that it gave a directory (chattr). Somebody who sets the system's clock can in theory give
// a change the time of an earlier one, to the nanosecond. Programs outside of this process that write while the command runs
// are taken for the command, if no record tells of them. Off Linux there is no time of change and no inode: what keeps
// modification time, size and mode is not seen there.
package snapshot
