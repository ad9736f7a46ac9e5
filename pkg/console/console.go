package console

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/rs/zerolog"
)

// Options are what a Console is made of.
type Options struct {
	// Environ is the environment that settings are read from, and that names the user's own directory.
	Environ []string
	// Dirs are workspaces to be shown beside those in which the user has run servers.
	Dirs []string
	// Governed tells whether a process was started by a command of a governed server; nil: nobody can tell.
	Governed func(pid int) bool
	// Now is the clock; nil is the system's.
	Now    func() time.Time
	Logger zerolog.Logger
}

// Console serves the page. It is safe for concurrent use.
type Console struct {
	Options
	door   *door
	places *places
	hub    *hub
	routes *http.ServeMux
}

// New makes a console. It reads nothing yet.
func New(o Options) *Console {
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Console{Options: o, door: newDoor(o.Now), places: newPlaces(o), hub: newHub()}
	c.routes = c.newRoutes()
	return c
}

// Ports that a console can have, and how many of them are tried.
const (
	firstPort = 20_000
	ports     = 40_000
	triedOnes = 20
)

// Listen takes a port of the loopback address by chance. A browser keeps what it got from an address: a program that listened
// where a console was, as any command of an agent can, may have left a service worker there that gets every later link. Such
// a program could take all other ports, so that only a few are tried.
func Listen(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	var errs []error
	for range triedOnes {
		l, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(firstPort+rand.IntN(ports))))
		if err == nil {
			return l, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("%d ports by chance are all taken; look what holds them: %w", triedOnes, errors.Join(errs...))
}

// Link makes a link to the console at an address that lets one browser in, once, within a quarter of an hour.
func (c *Console) Link(at net.Addr) string { return "http://" + at.String() + "/#" + c.door.newCode() }

// closingTime is how long requests may take to end when the console does.
const closingTime = 2 * time.Second

// Serve serves the page until ctx is done. The listener must be of a loopback address.
func (c *Console) Serve(ctx context.Context, l net.Listener) error {
	if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		return errors.Join(errors.New("the console listens on loopback addresses only"), l.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.door.at = l.Addr()
	server := &http.Server{
		Handler: c.guard(c.routes), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 32 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx }, ConnContext: c.withPeer,
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		c.watch(ctx)
	}()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		cancelled, stop := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
		err = server.Shutdown(cancelled)
		stop()
		if err != nil {
			err = server.Close()
		}
	}
	cancel()
	<-watched
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, c.places.close())
}
