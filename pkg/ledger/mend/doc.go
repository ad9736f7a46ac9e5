// Package mend changes the ledger's files where a person asks for it: it sets torn ends aside, puts lines back and resolves
// the conflicts that git left.
//
// It promises that no line of a record is dropped or changed: what goes are conflict markers, blank lines, lines that stand
// there twice, and what a crash tore, which is kept in a file of its own. Each file is replaced as a whole and is on disk
// when a function returns. It does not decide what to do with a line in the middle that is none: it says where that is.
package mend
