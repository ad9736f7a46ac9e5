package main

import (
	"errors"
	"fmt"
	"io"
	"syscall"
)

// answerWriter is where a command writes its answer. It remembers the first failure, so that an answer which did not
// arrive, as on a full disk, is never taken for given, and does not try again after it.
type answerWriter struct {
	out io.Writer
	err error
}

func (w *answerWriter) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.out.Write(p)
	w.err = err
	return n, err
}

// outcome is the command's error in the light of what became of its answer. Whoever reads the answer may stop at any
// time: that is no failure.
func (w *answerWriter) outcome(err error) error {
	switch {
	case w.err == nil:
		return err
	case isBrokenPipe(w.err):
		return nil
	case err == nil || errors.Is(err, w.err):
		return &exitError{code: exitFailed, err: fmt.Errorf("write the answer: %w; what was printed is not all of it", w.err)}
	}
	return err
}

func isBrokenPipe(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || isClosedByReader(err)
}
