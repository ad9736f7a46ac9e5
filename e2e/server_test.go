package e2e_test

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// endpoint is a program that serves HTTP.
type endpoint struct{ url, token string }

// serveHTTP starts the program and takes from its standard error where it
// listens and for which token.
func (w *workspace) serveHTTP(transport string, env ...string) endpoint {
	w.t.Helper()
	cmd := exec.Command(program, "serve", "--workspace", w.dir, "--transport", transport, "--listen", "127.0.0.1:0")
	cmd.Env = w.env(env...)
	said := &announcement{ready: make(chan endpoint, 1)}
	cmd.Stderr = said
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		w.ends(cmd)
	})
	select {
	case e := <-said.ready:
		if e.token == "" {
			w.t.Fatal("the server did not say which token it wants")
		}
		return e
	case <-time.After(patience):
		w.t.Fatal("the server did not say where it listens")
	}
	return endpoint{}
}

// announcement is a server's standard error.
type announcement struct {
	ready chan endpoint
	text  bytes.Buffer
}

func (a *announcement) Write(p []byte) (int, error) {
	a.text.Write(p)
	var e endpoint
	for line := range strings.Lines(a.text.String()) {
		if token, ok := strings.CutPrefix(line, "bearer token: "); ok {
			e.token = strings.TrimSpace(token)
		}
		if url, ok := strings.CutPrefix(line, "listening on "); ok && strings.HasSuffix(url, "\n") {
			e.url = strings.TrimSpace(url)
		}
	}
	if e.url != "" {
		select {
		case a.ready <- e:
		default:
		}
	}
	return len(p), nil
}

// ends demands that a process which was told to ends with code 0.
func (w *workspace) ends(cmd *exec.Cmd) {
	w.t.Helper()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			w.t.Errorf("%v ended with %v", cmd.Args, err)
		}
	case <-time.After(patience):
		w.t.Errorf("%v does not end", cmd.Args)
		_ = cmd.Process.Kill()
		<-done
	}
}
