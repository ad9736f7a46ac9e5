// Package insight tells from the ledger how the work goes over time, and which scopes are wider than what was used of them.
//
// # Promise
//
// A [Collector] reads the ledger once; each later [Collector.Update] reads only what is new. Its memory does not grow with the
// number of records: what it counts is bounded, and what finds no room is reported as uncounted. The same records, in any
// order, give the same answers. A proposal for a scope covers every path under the present scope that was touched, reaches no
// path that the present scope does not, and is the same for the same history and files.
//
// # Non-promise
//
// What was done is counted, also what was undone later, and twice where a record was retracted and replaced. Records of the
// past that git brings while a Collector lives are counted by the next one. A proposal says what was needed so far; what the
// intent will need, nobody knows: it is for a person to judge.
package insight
