package login

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/printable"
)

// path is where the browser comes back to.
const path = "/callback"

// back is where the browser comes back to with the code (RFC 8252).
type back struct {
	address string
	issuer  *issuer
	server  *http.Server
	mu      sync.Mutex
	state   string // "" before and after
	came    chan came
}

type came struct {
	code string
	err  error
}

// listen waits where only this machine gets to, on any port (RFC 8252, section 7.3).
func listen(i *issuer) (*back, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &back{address: "http://" + l.Addr().String() + path, issuer: i, came: make(chan came, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+path, b.arrive)
	b.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() { _ = b.server.Serve(l) }()
	return b, nil
}

func (b *back) begin(state string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = state
}

// arrive takes the first answer that bears the state. What does not is some other page's, and changes nothing.
func (b *back) arrive(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	b.mu.Lock()
	is := b.state != "" && subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(b.state)) == 1
	if is {
		b.state = ""
	}
	b.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if !is {
		http.Error(w, "This is no answer to a login that is waiting.", http.StatusBadRequest)
		return
	}
	c := came{code: q.Get("code")}
	switch named := q.Has("iss"); {
	case named && q.Get("iss") != b.issuer.Issuer, !named && b.issuer.NamesItself:
		c.err = errors.New("the answer to the login is not from the authorization server that was asked")
	case q.Get("error") != "":
		c.err = fmt.Errorf("the login was refused: %s: %s", printable.Text(printable.Clip(q.Get("error"), 100)), printable.Text(printable.Clip(q.Get("error_description"), 300)))
	case c.code == "":
		c.err = errors.New("the answer to the login has no code")
	}
	text := "You are logged in. This page can be closed."
	if c.err != nil {
		text = "The login failed; the terminal says why. This page can be closed."
	}
	fmt.Fprintln(w, text)
	b.came <- c
}

func (b *back) wait(ctx context.Context) (string, error) {
	select {
	case c := <-b.came:
		return c.code, c.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// close ends it once the browser has its page.
func (b *back) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if b.server.Shutdown(ctx) != nil {
		b.server.Close()
	}
}
