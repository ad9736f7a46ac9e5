package main

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"

	"github.com/charmbracelet/x/term"
)

// width is how many columns the terminal has that the answer goes to; 0 if it goes elsewhere, or if that is not known.
func (a *app) width() int {
	if !a.outTerminal || a.columns > 0 {
		return a.columns
	}
	columns, _ := a.lookup("COLUMNS")
	if n, err := strconv.Atoi(columns); err == nil && n > 0 {
		return n
	}
	if file, ok := a.terminal().(*os.File); ok {
		if n, _, err := term.GetSize(file.Fd()); err == nil {
			return n
		}
	}
	return 0
}

// terminal is what the answer is written to, without what stands before it: who draws on a terminal asks it for its size.
func (a *app) terminal() io.Writer {
	if answer, ok := a.out.(*answerWriter); ok {
		return answer.out
	}
	return os.Stdout
}

// paged lets a body write through a pager, as git does: $PAGER, else less if there is one, and only on a terminal. less
// ends at once if the answer fits on the screen.
func (a *app) paged(body func() error) error {
	answer, ok := a.out.(*answerWriter)
	pager := a.pager()
	if !ok || pager == nil {
		return body()
	}
	pipe, err := pager.StdinPipe()
	if err != nil {
		return body()
	}
	a.columns = a.width()
	screen := answer.out
	pager.Stdout, pager.Stderr = screen, a.err
	if err := pager.Start(); err != nil {
		return body() // without a pager there is still an answer
	}
	// A keyboard interrupt is the pager's: who ends before it leaves it fighting with the shell for the terminal.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	answer.out = pipe
	err = body()
	answer.out = screen
	_ = pipe.Close()
	_ = pager.Wait() // how a pager ends says nothing about the answer
	return err
}

// pager is the command that shows the answer; nil if there is to be none.
func (a *app) pager() *exec.Cmd {
	if !a.outTerminal {
		return nil
	}
	line, given := a.lookup("PAGER")
	if !given {
		line = "less"
		if _, err := exec.LookPath(line); err != nil {
			return nil
		}
	}
	if line == "" || line == "cat" {
		return nil
	}
	shell := []string{"sh", "-c"}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd", "/c"}
	}
	cmd := exec.Command(shell[0], append(shell[1:], line)...)
	cmd.Env = a.environ()
	if _, set := a.lookup("LESS"); !set {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	return cmd
}
