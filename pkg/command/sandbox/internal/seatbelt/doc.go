// Package seatbelt writes the profile with which macOS holds a command (sandbox(7), sandbox-exec(1)), from what the command may do.
//
// # The shape
//
// Everything is denied that no line allows. What may be written is one allow for each directory, with the exceptions inside of it,
// so no order of rules decides it. Reading is the one allow that a deny follows, of the very same operation: the last that matches
// decides then, and a rule for a narrower operation would not count against it. There is no rule for Apple events, for jobs of
// launchd, for opening by Launch Services, for mounts, for the keychain or for pseudo-terminals, so there are none of these.
//
// Version 1 of the language allows some operations whatever the default is, hard links and clones (file-link, file-clone) and looks
// at other processes (process-info*) among them. These are denied by name: what denies a wider operation does not reach them.
//
// # Names
//
// No name of a file stands in the text. It has parameters, and their values go to sandbox-exec beside it (-D), where nothing reads
// them as more than bytes: no name can end a string, and none can be too long for the reader of the text. Paths have to be those
// that the kernel gives: absolute, without links, in the letter case of the disk.
//
// What exists has one name for the kernel, in whatever letter case it is opened. What does not exist yet has the name that a
// process gives it, and the usual file systems of macOS take different names for one: other letter case, other Unicode forms
// (ſ is s, the Kelvin sign is k, ﬁ is fi). So an absent name is held by two regular expressions that no text of a path is part of:
// the name in any case, and, in that directory, every name with a character that is no printable ASCII (only those that begin with
// a dot, where all absent ones do). A name that has such a character itself cannot be held, and is an error.
//
// What is not promised: that macOS does what is written here. Package probes tries it on the machine.
package seatbelt
