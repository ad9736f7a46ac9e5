package printer

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"

	"github.com/charmbracelet/x/term"
)

// Screen is what the answer is written to, without what stands before it: who draws on a terminal asks it for its size.
func (p *Printer) Screen() io.Writer { return p.screen }

// Width is how many columns the terminal has that the answer goes to; 0 if it goes elsewhere, or if that is not known.
func (p *Printer) Width() int {
	if !p.Terminal || p.columns > 0 {
		return p.columns
	}
	columns, _ := p.env.Lookup("COLUMNS")
	if n, err := strconv.Atoi(columns); err == nil && n > 0 {
		return n
	}
	if file, ok := p.screen.(*os.File); ok {
		if n, _, err := term.GetSize(file.Fd()); err == nil {
			return n
		}
	}
	return 0
}

// Paged lets a body write through a pager, as git does: $PAGER, else less if there is one, and only on a terminal. less
// ends at once if the answer fits on the screen.
func (p *Printer) Paged(body func() error) error {
	pager := p.pager()
	if pager == nil {
		return p.buffered(body)
	}
	p.columns = p.Width()
	pager.Stdout, pager.Stderr = p.screen, p.env.Errors
	pipe, err := pager.StdinPipe()
	if err == nil {
		err = pager.Start()
	}
	if err != nil {
		return p.buffered(body) // without a pager there is still an answer
	}
	// A keyboard interrupt is the pager's: who ends before it leaves it fighting with the shell for the terminal.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	p.out = pipe
	err = p.buffered(body)
	p.out = p.screen
	_ = pipe.Close()
	_ = pager.Wait() // how a pager ends says nothing about the answer
	return err
}

// pager is the command that shows the answer; nil if there is to be none.
func (p *Printer) pager() *exec.Cmd {
	if !p.Terminal {
		return nil
	}
	line, given := p.env.Lookup("PAGER")
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
	cmd.Env = p.env.Environ()
	if _, set := p.env.Lookup("LESS"); !set {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	return cmd
}
