//go:build unix

package command_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/command"
)

func (b *bench) serve(line string) *command.Service {
	b.Helper()
	return b.serveSpec(command.Spec{Program: []string{"/bin/sh", "-c", line}})
}

func (b *bench) serveSpec(spec command.Spec) *command.Service {
	b.Helper()
	spec.Dir, spec.Env = b.open, []string{"PATH=" + os.Getenv("PATH")}
	service := check.Value(b.runner.Serve(spec))(b)
	b.Cleanup(func() {
		service.End()
		<-service.Done()
		service.Output.Close()
		service.Errors.Close()
	})
	return service
}

// spoken is what the service prints until its output ends.
func spoken(t testing.TB, file *os.File) string {
	t.Helper()
	return string(check.Value(io.ReadAll(file))(t))
}

func TestServiceTalksUntilItsInputEnds(t *testing.T) {
	b := newBench(t)
	s := b.serveSpec(command.Spec{Program: []string{"/bin/sh", "-c", `echo "$1" >&2; while read -r line; do echo "heard $line"; done; exit 3`, "sh", "it's $HOME"}})
	answers := bufio.NewReader(s.Output)
	for _, word := range []string{"one", "two"} {
		check.Value(io.WriteString(s.Input, word+"\n"))(t)
		check.Equal(t, check.Value(answers.ReadString('\n'))(t), "heard "+word+"\n")
	}
	check.That(t, syscall.Kill(s.PID(), 0) == nil, "%d is no process", s.PID())
	s.End()
	s.End()
	<-s.Done()
	check.Equal(t, s.Result().ExitCode, 3)
	check.Equal(t, spoken(t, s.Errors), "it's $HOME\n")
	check.Equal(t, b.runner.Running(), 0)
}

// TestServiceThatWillNotEnd is killed with what it has started.
func TestServiceThatWillNotEnd(t *testing.T) {
	b := newBench(t)
	s := b.serve(`trap '' TERM; sleep 1000 & (trap '' TERM; sleep 1000) & echo ready; while :; do sleep 0.1; done`)
	check.Equal(t, check.Value(bufio.NewReader(s.Output).ReadString('\n'))(t), "ready\n")
	s.End()
	<-s.Done()
	check.Equal(t, s.Result().Signal, "SIGKILL")
	check.Equal(t, spoken(t, s.Output), "") // it ends: nobody holds it open
}

// TestServiceThatDies takes with it what it has started, and what it had said can be read.
func TestServiceThatDies(t *testing.T) {
	b := newBench(t)
	s := b.serve(`sleep 1000 & echo last words; exit 7`)
	<-s.Done()
	check.Equal(t, s.Result().ExitCode, 7)
	check.Equal(t, spoken(t, s.Output), "last words\n")
}

func TestServiceThatCannotBe(t *testing.T) {
	b := newBench(t)
	for name, spec := range map[string]command.Spec{
		"both":     {Command: "true", Program: []string{"/bin/true"}},
		"relative": {Program: []string{"true"}},
		"a NUL":    {Program: []string{"/bin/true", "a\x00b"}},
		"neither":  {},
	} {
		spec.Dir = b.open
		_, err := b.runner.Serve(spec)
		check.That(t, errors.Is(err, command.ErrInvalidSpec), "%s: %v", name, err)
	}
	_, err := b.runner.Serve(command.Spec{Dir: b.open, Program: []string{b.dir + "/absent"}})
	check.That(t, errors.Is(err, os.ErrNotExist) && strings.Contains(err.Error(), "absent"), "%v", err)
}
