// Package install knows the commands that install dependencies: where each puts packages, and which manifests and lock files it writes.
//
// What it knows is data ([Find] reads a table): the program, its first words, and names relative to the directory of
// the project, which is the nearest at or above the command's that has its manifest. It looks at which of these files
// exist, and never at what a program does: the names of package directories are those of the table, so a line cannot
// make another directory pass for one. Of a virtual environment the line says the name; see [Find].
//
// It promises nothing about a script, a Makefile or a program that it does not
// know, though they install: these are commands like any other.
package install
