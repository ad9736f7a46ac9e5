// Package rotation moves lines from a file that is appended to into archives.
//
// # Promise
//
// A crash at any instruction leaves each line in the file, in an archive, or in both. Nobody who appends waits for more than
// the last step. Archives are on disk before they have their names.
//
// # Rotation
//
// When a file is longer than its limit, all but its last eighth is moved into archives, in the background. What
// stays in any case are its heads, so that a writer finds the heads of the ledger in the file that it appends to, and
// garbage, so that it can be cleaned away. Archives and the file with what is left are written below state/rotate/
// without the lock. Under it, if the file is still the one that was read and its beginning is unchanged, what was
// appended meanwhile is added, the archives are put in place, then the file; each is flushed before. One process rotates
// at a time: it holds a flock on state/rotate/, and removes what a killed one left there.
//
// A reader whose file was replaced after it had listed the segments begins again.
package rotation
