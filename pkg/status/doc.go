// Package status tells what happens in a workspace at the moment: the servers and agents that are alive, what runs, what
// waits for an answer, which checks fail, whether the ledger is whole, and how far each intent is.
//
// It promises to change nothing and to take no lock that a server waits for. A report is of one moment, and is for people
// to look at: who can write .orchestration/state/ can make it say what they like. What cannot be read stands in Problems.
package status
