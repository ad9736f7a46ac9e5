package sandbox

import "syscall"

// Held is a command that Start started. At Full, cmd.Process is the helper, whose death is the death of all that came
// of the command; at the other levels it is the command.
type Held struct {
	ended   chan struct{} // closed when status is known, or cannot be known any more
	gone    chan struct{} // closed when the helper is dead, where there is one
	release func()

	status syscall.WaitStatus
	known  bool
}

// Ended is closed when the command itself has ended, while what it left behind may run on until cmd.Process is killed.
// It is nil where the end of cmd.Process is the end of the command.
func (h *Held) Ended() <-chan struct{} {
	if h == nil {
		return nil
	}
	return h.ended
}

// Status is how the command ended, where that is not how cmd.Process did. It is for when Ended is closed.
func (h *Held) Status() (status syscall.WaitStatus, known bool) {
	if h.Ended() == nil {
		return status, false
	}
	<-h.ended
	return h.status, h.known
}

// Close takes back what was put into the file system for the command, and what answers for it in this process. It is to
// be called once, when cmd.Process was waited for.
func (h *Held) Close() {
	if h == nil {
		return
	}
	if h.gone != nil {
		<-h.gone
	}
	h.release()
}
