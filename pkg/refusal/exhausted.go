package refusal

import (
	"errors"
	"syscall"
)

// Exhausted gives the refusal of a call that failed because no more files could be opened, else nil. It passes: when
// other calls or programs have closed theirs, the same call succeeds.
func Exhausted(err error) *Refusal {
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return nil
	}
	return New(Busy, "Too many files are open in this server or on this machine, so the call could not be judged or carried out.").
		Suggest("Make the same call again in a moment; if that does not help, the user can raise the limit on open files (ulimit -n).")
}
