package mcpbridge

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
)

// Serve serves HTTP/1.1 on a listener, which may be a TLS one, until ctx is done. Then it ends the streams, lets
// calls go on for the drain time, cancels them, and returns nil. The handler is closed afterwards.
func (h *HTTPHandler) Serve(ctx context.Context, listener net.Listener) error {
	defer h.Close()
	server := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: h.options.ReadTimeout,
		ReadTimeout:       h.options.ReadTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ConnState:         h.conns.watch,
		ConnContext:       withConn,
		Protocols:         new(http.Protocols),
	}
	server.Protocols.SetHTTP1(true) // with HTTP/2 a connection would be many
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		h.shutdown(server)
	})
	err := server.Serve(listener)
	if stop() {
		return fmt.Errorf("http: serve on %s: %w", listener.Addr(), err)
	}
	<-stopped
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("http: serve on %s: %w", listener.Addr(), err)
}

func (h *HTTPHandler) shutdown(server *http.Server) {
	h.endStream()
	h.sessions.silence() // no new request is let in, so no answer either
	patience, cancel := context.WithTimeout(context.Background(), h.options.Drain)
	defer cancel()
	if server.Shutdown(patience) == nil && h.allEnded(patience) {
		return
	}
	h.stopCalls()
	grace, cancelGrace := context.WithTimeout(context.Background(), drainGrace)
	defer cancelGrace()
	if server.Shutdown(grace) != nil || !h.allEnded(grace) {
		h.server.log.Warn().Msg("calls did not end in time at shutdown")
		_ = server.Close() // the connections are given up
	}
}

// allEnded waits for the calls, which can outlive their connections. No further one begins.
func (h *HTTPHandler) allEnded(patience context.Context) bool {
	select {
	case <-h.running.close():
		return true
	case <-patience.Done():
		return false
	}
}
