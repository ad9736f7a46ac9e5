// Package union takes the lines of other copies of a ledger into the one of a workspace.
//
// It promises that the lines come byte for byte, each once, and that the next record follows those of them that nothing
// follows; that a record under the id of another one is refused; and that after a crash, what is missing is found missing by
// the next union. It does not promise that what the lines say is so: whoever sends lines can say anything in them.
package union
