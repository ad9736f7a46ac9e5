package mcpbridge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 32 << 10
	// maxConnections bounds what clients that have not shown a token can hold.
	maxConnections = 1024
)

// Serve serves HTTP on a listener, or HTTPS if [HTTPOptions.TLS] is set, until
// ctx is done. Then it ends the streams, lets calls go on for the drain time,
// cancels them, and returns nil. The handler is closed afterwards.
func (h *HTTPHandler) Serve(ctx context.Context, listener net.Listener) error {
	defer h.Close()
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		h.shutdown(server)
	})
	err := h.accept(server, netutil.LimitListener(listener, maxConnections))
	if stop() {
		return fmt.Errorf("http: serve on %s: %w", listener.Addr(), err)
	}
	<-stopped
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("http: serve on %s: %w", listener.Addr(), err)
}

func (h *HTTPHandler) accept(server *http.Server, listener net.Listener) error {
	if h.options.TLS == nil {
		return server.Serve(listener)
	}
	server.TLSConfig = h.options.TLS.Clone()
	return server.ServeTLS(listener, "", "") // the certificates are in the configuration
}

func (h *HTTPHandler) shutdown(server *http.Server) {
	h.endStream()
	h.sessions.silence() // no new request is let in, so no answer either
	patience, cancel := context.WithTimeout(context.Background(), h.options.Drain)
	defer cancel()
	if server.Shutdown(patience) == nil {
		return
	}
	h.stopCalls()
	grace, cancelGrace := context.WithTimeout(context.Background(), drainGrace)
	defer cancelGrace()
	if err := server.Shutdown(grace); err != nil {
		h.server.log.Warn().Err(err).Msg("calls did not end in time at shutdown")
		_ = server.Close() // the connections are given up
	}
}

// ListenAndServe is Serve on a TCP address.
func (h *HTTPHandler) ListenAndServe(ctx context.Context, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("http: listen on %s: %w", address, err)
	}
	return h.Serve(ctx, listener)
}
