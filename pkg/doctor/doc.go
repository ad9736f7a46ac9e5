// Package doctor looks at a workspace and at the machine below it, and says what is wrong and how to mend it.
//
// # Promise
//
// [Run] changes nothing: it writes no file, takes no lock that another process waits for without trying again, and runs
// no program that the workspace names. It runs git, with what a repository could start switched off, and the system's
// true, to see whether namespaces can be had. It ends with a report whatever it finds: what cannot be checked is said to
// be unchecked. A [Finding] that warns or fails has a remedy, and where one command mends it, that command, quoted for a
// POSIX shell.
//
// With [Options.Hooks] it starts the clients that are set up, with the user's configuration and the workspace's. Their agent
// is a script of ours, which asks for one new file; if that is written, it is removed. What a client itself starts or keeps,
// such as servers and a history, is not ours to take back.
//
// # Non-promise
//
// A report is of one moment, and nothing in it is proof: the ledger is checked as `verify` does without --git, within a
// few seconds, and no key is asked for. File systems are judged by their kind where only a write could tell. Names and
// contents of the workspace stand in the texts as they are; who prints them makes them harmless.
package doctor
