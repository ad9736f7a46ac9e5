// Package shell reads a command line as the shell that runs it would, without running anything: which programs it can
// start, with which first arguments, and which files it redirects to.
//
// It promises that every simple command that the line itself can start stands in [Reading.Programs], and every file that a redirection
// of the line can write in [Reading.Writes], or that [Reading.Unjudged] says why not. That holds through env, sudo, xargs, find -exec
// and their like, into the text of sh -c, eval, trap and here-documents given to a shell, into substitutions and functions. Branches
// are not decided: what stands behind false && is listed too. Reading takes bounded time and memory, and does not panic.
//
// It promises nothing about what a program does: a script that is named, a Makefile, git's own configuration, python
// -c, the file that source reads, or the files that tee and cp write; nor about programs that are not known to run
// others, and options that are not literal. Variables are not followed: a program whose name comes from one is
// unjudged. Of variables that bash evaluates it is followed whether the line gives them text that can hold code; what
// the environment holds is taken for harmless. So the reading says what to ask about; it is not a boundary.
package shell
