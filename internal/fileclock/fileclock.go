// Package fileclock tells the time by the clock of the file systems of this machine: a change that begins after [Now]
// gets no earlier time of change. It lags by some milliseconds, so a change shortly before can have a later time. What
// other machines keep has clocks of its own.
package fileclock
