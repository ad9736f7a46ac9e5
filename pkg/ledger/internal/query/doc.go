// Package query finds the records that a filter takes.
//
// It promises each record once, whatever merges and rotations have done to the files, in the order of the lines within a
// segment and by time between segments; and, from the end with a limit, at a cost that does not grow with the ledger. What
// the index proposes is read and held to the filter before it is given. It does not promise an order among records of one
// time.
package query
