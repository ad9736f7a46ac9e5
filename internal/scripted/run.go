package scripted

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"time"
)

// Result is what a run left.
type Result struct {
	Code           int // -1: a signal
	Stdout, Stderr string
}

// Run runs a program without a terminal and without input, and ends all of its process group when it or the context ends. That
// it failed is no error; that it could not be started is.
func Run(ctx context.Context, argv []string, dir string, env []string) (Result, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	inGroup(cmd)
	cmd.Cancel = func() error { return endGroup(cmd.Process) }
	cmd.WaitDelay = time.Second // a program that it left may hold the streams
	err := cmd.Run()
	if cmd.Process == nil {
		return Result{}, err
	}
	_ = endGroup(cmd.Process)
	r := Result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	if _, exit := errors.AsType[*exec.ExitError](err); exit || errors.Is(err, exec.ErrWaitDelay) || ctx.Err() != nil {
		err = nil
	}
	return r, err
}

// Alone are the variables by which a program reaches the model and loopback, and as far as it obeys them nothing else.
func (m *Model) Alone() []string {
	env := []string{"NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost", "DO_NOT_TRACK=1", "NO_COLOR=1", "TERM=dumb", "CI=1"}
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		env = append(env, name+"="+m.url)
	}
	return env
}
