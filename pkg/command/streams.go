package command

import (
	"errors"
	"os"
	"sync"
	"time"
)

// streams are one end of a command's pipes. A file that is nil stands for the null device as input, and for the output
// as standard error.
type streams struct{ input, output, errors *os.File }

// openStreams returns the server's ends and the command's.
func openStreams(spec *Spec) (ours, theirs streams, err error) {
	if t := spec.Through; t != nil {
		return ours, streams{t.In, t.Out, t.Err}, nil
	}
	return openPipes(len(spec.Input) > 0, spec.Apart)
}

// openPipes makes a pipe for the output, and the others where they are wanted.
func openPipes(input, apart bool) (ours, theirs streams, err error) {
	var failed []error
	pipe := func(wanted bool) (read, write *os.File) {
		if !wanted {
			return nil, nil
		}
		read, write, err := os.Pipe()
		failed = append(failed, err)
		return read, write
	}
	theirs.input, ours.input = pipe(input)
	ours.output, theirs.output = pipe(true)
	ours.errors, theirs.errors = pipe(apart)
	if err := errors.Join(failed...); err != nil {
		ours.close()
		theirs.close()
		return streams{}, streams{}, err
	}
	return ours, theirs, nil
}

func (s streams) close() {
	for _, file := range []*os.File{s.input, s.output, s.errors} {
		if file != nil {
			file.Close()
		}
	}
}

// feed writes the input. A command that does not read it, or ends before, is no error; closing the stream ends the writing.
func (s streams) feed(input []byte) {
	if s.input == nil {
		return
	}
	go func() {
		s.input.Write(input)
		s.input.Close()
	}()
}

// drain empties the pipes into the sinks, and closes the channel when both have ended.
func (s streams) drain(out, apart *sink) <-chan struct{} {
	var reading sync.WaitGroup
	if s.output != nil {
		reading.Go(func() { out.readFrom(s.output) })
	}
	if s.errors != nil {
		reading.Go(func() { apart.readFrom(s.errors) })
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		reading.Wait()
	}()
	return drained
}

// hurry ends the reading of what somebody still holds open.
func (s streams) hurry() {
	if s.output == nil {
		return
	}
	s.output.SetReadDeadline(time.Now())
	if s.errors != nil {
		s.errors.SetReadDeadline(time.Now())
	}
}
