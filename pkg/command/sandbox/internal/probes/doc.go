// Package probes tries whether a sandbox holds: one table of what a command has to be able to do, and of what it must not, for every
// level that holds files as the level full does.
//
// [Make] builds a small world in a temporary directory. A program is started in the sandbox, runs each probe ([Main]) and prints
// what came of it. [World.Judge] compares that with what had to come of it, and looks from outside whether anything out of the
// command's reach is another than before: a probe that lies, or that succeeds with an error, is found by that. Whatever is not as it has to be is a surprise, and one surprise is enough.
//
// The tests run the table at the level full of Linux, where it passes, and without a sandbox, where each probe is noticed.
package probes
