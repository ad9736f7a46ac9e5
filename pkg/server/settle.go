package server

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime/debug"
	"sync"

	"github.com/intentgov/orchestra-mcp/internal/hookdoor"
	"github.com/intentgov/orchestra-mcp/internal/presence"
)

// settlement settles once, in the background, what servers that were killed have left.
type settlement struct {
	once   sync.Once
	cancel context.CancelFunc // nil: it has not begun
	ended  sync.WaitGroup
}

// settleLeft begins it. It is called when a client has its first answer, so
// that it does not hold up the start, and does nothing the second time.
func (s *Server) settleLeft() {
	s.settlement.once.Do(func() {
		var ctx context.Context
		ctx, s.settlement.cancel = context.WithCancel(context.Background())
		s.settlement.ended.Go(func() { s.settleNow(ctx) })
	})
}

func (s *Server) settleNow(ctx context.Context) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error().Interface("panic", p).Bytes("stack", debug.Stack()).Msg("the settlement of what a crash left panicked; the first change tries again")
		}
	}()
	if err := s.recorder.SettleLeft(ctx); err != nil && !errors.Is(err, context.Canceled) {
		s.log.Warn().Err(err).Msg("what a crash left is not settled yet; the first change tries again")
	}
}

// answered begins what waits for the first answer to a client.
func (s *Server) answered() {
	s.settleLeft()
	if s.options.Hooks != nil {
		s.hooksOnce.Do(s.alsoHooks)
	}
}

// alsoHooks answers the hooks of clients too, if no other server does.
func (s *Server) alsoHooks() {
	ctx, cancel := context.WithCancel(context.Background())
	s.hooksEnd = cancel
	s.hooks.Go(func() {
		l, err := s.options.Hooks()
		if err == nil {
			err = s.ServeHooks(ctx, l, 0)
		}
		if err != nil && !errors.Is(err, hookdoor.ErrTaken) {
			s.log.Warn().Err(err).Msg("the hooks of clients are not answered by this server")
		}
	})
}

// endHooks ends that.
func (s *Server) endHooks() {
	s.hooksOnce.Do(func() {})
	if s.hooksEnd != nil {
		s.hooksEnd()
	}
	s.hooks.Wait()
}

// close lets it begin no more, and waits for one that has: a step that it is
// in is brought to its end, but it does not wait for other servers.
func (s *settlement) close() {
	s.once.Do(func() {})
	if s.cancel != nil {
		s.cancel()
	}
	s.ended.Wait()
}

// answering calls first when something has been written for the first time.
type answering struct {
	io.Writer
	first func()
}

func (a answering) Write(p []byte) (int, error) {
	n, err := a.Writer.Write(p)
	a.first()
	return n, err
}

// presenceOf is the mark by which `status` finds this process.
type presenceOf struct {
	id, transport, address string

	once sync.Once
	mark *presence.Mark
}

// appear marks this process as one that serves a client, at the first call of a tool: a server that nobody calls makes
// nothing. In a workspace that is not initialised there is no place for a mark. otherwise is the transport of a caller for whom
// none was begun.
func (s *Server) appear(otherwise string) {
	transport := cmp.Or(s.presence.transport, otherwise)
	if transport == "" {
		return // nobody is served
	}
	s.presence.once.Do(func() {
		state, err := s.workspace.State()
		if err != nil {
			return
		}
		defer state.Close()
		s.presence.mark, err = presence.Register(state, presence.Server{
			ID: s.presence.id, Transport: transport, Address: s.presence.address, Version: s.options.Version,
			StartedAt: s.options.Clock().UTC(),
		})
		if err == nil && s.options.UserDir != "" {
			err = presence.Remember(s.options.UserDir, s.workspace.Dir())
		}
		if err != nil {
			s.log.Info().Err(err).Msg("this server is not shown by orchestra-mcp status")
		}
	})
}

func (p *presenceOf) end() {
	p.once.Do(func() {})
	p.mark.Remove()
}
