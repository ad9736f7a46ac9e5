// Package corpus holds execute_command to what README.md says of commands: a table of named attacks, each made on a
// real server in a process of its own, at the levels full, landlock and none, as root and as an ordinary user, with the
// file system compared before and after.
//
// The table there is the expectation. What no table could allow is in the code: at the level full nothing out of scope
// may have changed, and what changed in the workspace at a lower level must be told.
//
// There is nothing here to import.
package corpus
