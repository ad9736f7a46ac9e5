// Package ownpages gives back what a process holds of its own program file.
//
// A start touches code of every package for a moment, and the kernel maps what lies around it too: a server that does a
// few things for hours would hold most of a large program for as long. [GiveBack] unmaps what cannot have been written.
// What is needed again comes back from the page cache, a few dozen faults in all; nothing is read from disk that the
// kernel has not dropped meanwhile.
//
// It is a hint about memory: where the system has no such thing, or hides what is mapped, nothing is given back.
package ownpages
