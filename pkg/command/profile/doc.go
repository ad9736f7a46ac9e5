// Package profile works out what a command may reach: the profile for package sandbox, from the scope of the intent, the
// workspace as it stands, the rules of .intentignore, and the toolchains that it is built with.
//
// # What may be written
//
// The smallest existing directories that hold what the scope can match: what is wholly in scope, or where the scope has
// room for something that does not exist yet. Elsewhere the existing files that match, one by one. Beside the scope,
// where build tools of the workspace put their output, a private temporary directory, and private caches
// below the user's own cache directory, which stand in for the user's.
//
// # What may not
//
// What exists out of scope, what .intentignore forbids, and what [workspace.Protect] names, program configuration
// included: an approval is given for a file that is known beforehand, and of a command it is not. Where nothing is yet,
// this holds for names at the top of the workspace only. For the level full these are Frozen inside of what may be
// written; a profile for the level landlock has no directory above one, and never the workspace itself.
//
// .git is closed, except to a line in which a git command stands, where the settings let it: then all of it but what makes git run
// programs or look elsewhere. At the level landlock, which cannot tell these apart, only GitTrusted opens it.
//
// In a linked work tree .git is a file that points to where git keeps what it knows, outside of the workspace. That is opened in the
// same way if it points back to this workspace, for a file of the workspace must not say what is writable outside of it: the directory
// that all work trees share, and this one's own in it. The others' stay closed: their directories, and of the main one, whose files lie
// among the shared ones, what exists. A submodule's directory stays closed, and so does the shared one where nothing tells whose is
// what: branches in the format reftable, a work tree inside of it.
//
// Where .git is open, at any level, its files that have other names (hard links: another clone of the same disk, git
// clone PATH) are first replaced by copies with the same content, permissions and time, so that writing them writes no
// other repository. Packs and files over 64 MiB are Frozen for the level full. If that fails, .git stays closed at that
// level. Each such command looks at every entry of .git, because a new name changes no directory of it.
//
// # What is not read
//
// What .intentignore has as secret, by all names of it in the workspace that the look before the command has found
// (hard links), the directories in which this program keeps its state, and the operator's settings. What of it the
// level cannot keep from the command, a warning names.
//
// # What is not promised
//
// A name is judged when the profile is made. What a directory that may be written gets later, out of scope or under a
// protected name, is for the comparison after the command. Below node_modules and virtual environments nothing is
// looked for where no rule of .intentignore can concern it. The number of Frozen and Writable paths is bounded, and so
// is how many entries are looked at: beyond, less may be written, and a warning says so.
package profile
