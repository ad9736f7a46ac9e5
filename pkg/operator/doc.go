// Package operator is what the person who answers for a workspace sees and does there: what waits and how it is answered,
// what the ledger has, what became of a record, what it changed. The commands of the terminal and the console read and
// answer through it, so that both say the same.
//
// It promises that an answer counts only once it is in the ledger, that nothing is answered twice, and that whatever an
// operator does to the workspace goes through a server's own engine, gate and record. Opening a workspace changes nothing.
//
// It does not promise that its caller is the operator: who may call is for the caller to check. Texts in what it returns
// are as they were written, by agents among others; its own sentences are safe to print.
package operator
