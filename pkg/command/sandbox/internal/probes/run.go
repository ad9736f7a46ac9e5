package probes

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Victim is what [Variable] says to the program that is only there to be killed: it ends with its standard input.
const Victim = "victim"

// Main runs the probes and ends the program where the environment asks for them. It is for the start of a program.
func Main() {
	switch asked := os.Getenv(Variable); asked {
	case "":
	case Victim:
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	default:
		Inside(asked, os.Stdout)
		os.Exit(0)
	}
}

// Inside runs the probes of an encoded world, and writes what came of each: its name, a tab and the error, quoted, on a line.
func Inside(encoded string, out io.Writer) {
	var w World
	if err := json.Unmarshal([]byte(encoded), &w); err != nil {
		fmt.Fprintf(out, "read the world\t%q\n", err)
		return
	}
	for _, p := range w.table() {
		said := ""
		if err := p.Do(&w); err != nil {
			said = err.Error()
		}
		fmt.Fprintf(out, "%s\t%q\n", p.Name, said)
	}
}

// table are the probes to run.
func (w *World) table() []Probe {
	return slices.DeleteFunc(Table(w), func(p Probe) bool { return len(w.Only) > 0 && !slices.Contains(w.Only, p.Name) })
}

// maxReport bounds what is read of a report: a probe says one line.
const maxReport = 256 << 10

// Judge runs the probes by run, which starts a program inside with the environment and returns what it printed. The error says all
// that was not as it had to be; nil is that the sandbox holds. The victim is a program that runs the function Main.
func (w *World) Judge(program string, run func(environ []string) ([]byte, error)) error {
	stop, err := w.Listen()
	if err != nil {
		return err
	}
	defer stop()
	victim, err := w.startVictim(program)
	if err != nil {
		return err
	}
	before := w.State()
	report, err := run(w.environment(program))
	lost := victim.end()
	if err != nil {
		return fmt.Errorf("the probes did not run to their end: %w: %.400q", err, report[:min(len(report), maxReport)])
	}
	surprises := w.compare(string(report[:min(len(report), maxReport)]))
	for _, what := range changed(before, w.State()) {
		surprises = append(surprises, errors.New("from outside: "+what))
	}
	if lost {
		surprises = append(surprises, errors.New("a process outside was killed"))
	}
	return errors.Join(surprises...)
}

// compare says which of the probes went otherwise than they had to.
func (w *World) compare(report string) (surprises []error) {
	said := map[string]string{}
	for line := range strings.Lines(report) {
		if name, what, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok {
			said[name] = what
		}
	}
	for _, p := range w.table() {
		what, tried := said[p.Name]
		switch {
		case !tried:
			surprises = append(surprises, fmt.Errorf("it was not tried to %s", p.Name))
		case p.Must && what != `""`:
			surprises = append(surprises, fmt.Errorf("a command could not %s: %s", p.Name, what))
		case !p.Must && what == `""`:
			surprises = append(surprises, fmt.Errorf("a command could %s", p.Name))
		}
	}
	return surprises
}

// victim is a process that a command must not reach.
type victim struct {
	cmd *exec.Cmd
	in  io.Closer
}

func (w *World) startVictim(program string) (*victim, error) {
	cmd := exec.Command(program)
	cmd.Env = []string{Variable + "=" + Victim, Mark}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start a process to protect: %w", err)
	}
	w.Victim = cmd.Process.Pid
	return &victim{cmd, in}, nil
}

// end reports whether it was killed.
func (v *victim) end() bool {
	v.in.Close()
	return v.cmd.Wait() != nil
}

// Output runs a command and returns what it printed on standard output, bounded, with what it said of an error.
func Output(cmd *exec.Cmd, start func() error) ([]byte, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	complaint := &tail{}
	cmd.Stderr = complaint
	if err := start(); err != nil {
		return nil, err
	}
	report, err := io.ReadAll(io.LimitReader(bufio.NewReader(out), maxReport))
	if waited := cmd.Wait(); waited != nil {
		err = fmt.Errorf("%w: %s", waited, complaint.text)
	}
	return report, err
}

// tail keeps the first of what is written.
type tail struct{ text []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p[:min(len(p), 400-min(400, len(t.text)))]...)
	return len(p), nil
}
