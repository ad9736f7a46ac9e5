//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/charmbracelet/x/term"
	"github.com/creack/pty"

	"github.com/intentgov/orchestra-mcp/pkg/command"
)

// withStreams hands the streams of this process on. Where one is a terminal, the command gets another one, of ours: it must not
// hold that of the client, into which it could type.
func withStreams(run func(*command.Through) error) error {
	through := &command.Through{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	at := terminal()
	if at == nil {
		return run(through)
	}
	ours, theirs, err := pty.Open()
	if err != nil {
		return err
	}
	defer ours.Close()
	_ = pty.InheritSize(at, ours)
	resized := make(chan os.Signal, 1)
	signal.Notify(resized, syscall.SIGWINCH)
	defer signal.Stop(resized)
	go func() {
		for range resized {
			_ = pty.InheritSize(at, ours)
		}
	}()
	if term.IsTerminal(os.Stdin.Fd()) {
		through.In, through.Terminal = theirs, true
		if state, err := term.MakeRaw(os.Stdin.Fd()); err == nil {
			defer func() { _ = term.Restore(os.Stdin.Fd(), state) }()
		}
		go func() { _, _ = io.Copy(ours, os.Stdin) }()
	}
	for _, stream := range []**os.File{&through.Out, &through.Err} {
		if term.IsTerminal((*stream).Fd()) {
			*stream = theirs
		}
	}
	var shown sync.WaitGroup
	shown.Go(func() { _, _ = io.Copy(at, ours) })
	err = errors.Join(run(through), theirs.Close())
	shown.Wait()
	return err
}

// terminal is the one of this process, nil if it has none.
func terminal() *os.File {
	for _, stream := range []*os.File{os.Stdout, os.Stderr, os.Stdin} {
		if term.IsTerminal(stream.Fd()) {
			return stream
		}
	}
	return nil
}
