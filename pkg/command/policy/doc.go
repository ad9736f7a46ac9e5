// Package policy judges what a command line can run by rules over programs and their first arguments.
//
// It promises that a rule which asks or denies is found whatever way the line writes the program, as long as package
// shell reads it: by its name or with its directory, with the options that stand before a subcommand, behind programs
// that run it. Of all simple commands and all rules the strictest counts. Where an argument that a rule names is not
// literal, a deny or ask rule counts as one that cannot be judged, and an allow rule as one that does not match.
//
// It does not promise that nothing else does the same: `git push` can be denied, and a script that pushes runs.
package policy
