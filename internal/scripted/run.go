package scripted

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
)

// Result is what a run left.
type Result struct {
	Code           int // -1: a signal
	Stdout, Stderr string
}

// maxSaid bounds what is kept of what a program prints, in bytes.
const maxSaid = 1 << 20

// Run runs a program without a terminal and without input, and ends all of its process group when it or the context ends. That
// it failed is no error; that it could not be run is. It leaves files in the directory streams: a pipe would be open as long as
// anything that the program left in the background.
func Run(ctx context.Context, argv []string, dir string, env []string, streams string) (Result, error) {
	out, err := os.CreateTemp(streams, "out-")
	if err != nil {
		return Result{}, err
	}
	defer out.Close()
	errs, err := os.CreateTemp(streams, "err-")
	if err != nil {
		return Result{}, err
	}
	defer errs.Close()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, out, errs
	inGroup(cmd)
	cmd.Cancel = func() error { return endGroup(cmd.Process) }
	err = cmd.Run()
	if cmd.Process == nil {
		return Result{}, err
	}
	_ = endGroup(cmd.Process)
	if _, exit := errors.AsType[*exec.ExitError](err); exit || ctx.Err() != nil {
		err = nil
	}
	return Result{cmd.ProcessState.ExitCode(), said(out), said(errs)}, err
}

func said(f *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxSaid))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Alone are the variables by which a program reaches the model and loopback, and as far as it obeys them nothing else.
func (m *Model) Alone() []string {
	env := []string{"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost", "DO_NOT_TRACK=1", "NO_COLOR=1", "TERM=dumb", "CI=1"}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		env = append(env, name+"="+m.url)
	}
	return env
}
