package server

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/clienthook"
	"github.com/intentgov/orchestra-mcp/internal/hookdoor"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
	"github.com/intentgov/orchestra-mcp/pkg/native"
)

// hookPatience is how long the event of a hook waits for an operator's answer: not at all, for a client lets a call pass whose
// hook takes long.
const hookPatience = 0

// newDesk makes what takes the events of clients' hooks.
func (s *Server) newDesk() *native.Desk {
	home, _ := os.UserHomeDir()
	program, err := os.Executable()
	if err != nil {
		program = Name
	}
	return native.New(native.Options{
		Engine: s.engine.WithAsker(s.asks.Waiting(hookPatience)), Tools: s.tools, Sessions: s.sessions, Ledger: s.ledger, Contents: s.contents,
		Dir: s.workspace.Dir(), Home: filepath.ToSlash(home), State: s.workspace.State, Program: program, Chosen: s.options.Chosen,
		Operator: s.operatorEngine(s.maps), JudgedBy: s.recorder.JudgedBy,
		Clock: s.options.Clock, Logger: s.log,
	})
}

// ServeHooks answers the hooks of clients, and the processes that run what these let through, until ctx is done or nobody has
// come for a while; 0 waits for ever.
func (s *Server) ServeHooks(ctx context.Context, l *hookdoor.Listener, idle time.Duration) error {
	if err := s.observe(false); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h := &hookServer{Server: s, desk: s.newDesk(), listener: l, lull: &lull{patience: idle, end: cancel}}
	h.lull.leave()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	s.settleLeft()
	s.appear("hooks")
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			break
		}
		if err != nil {
			cancel()
			break
		}
		if !s.stands() { // who calls is of the one that stands there now, and another server's
			_ = l.Close()
			_ = conn.Close()
			break
		}
		h.calls.Go(func() { h.serve(ctx, conn) })
	}
	_ = l.Close() // the next server may listen
	ending, done := context.WithTimeout(context.Background(), endTime)
	defer done()
	h.desk.Close(ending)
	h.calls.Wait()
	return nil
}

// stands reports whether the workspace is still the directory at its path.
func (s *Server) stands() bool {
	ours, err := s.workspace.Root().Stat(".")
	if err != nil {
		return false
	}
	there, err := os.Stat(s.workspace.Dir())
	return err == nil && os.SameFile(ours, there)
}

type hookServer struct {
	*Server
	desk     *native.Desk
	listener *hookdoor.Listener
	lull     *lull
	calls    sync.WaitGroup
}

// lull ends a server when nobody has called for a while, and nobody is there any more. With no while it never does.
type lull struct {
	patience time.Duration
	end      func()

	mu    sync.Mutex
	there int
	timer *time.Timer
}

func (l *lull) enter() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.there++
	if l.timer != nil {
		l.timer.Stop()
	}
}

// leave begins the while, when the last has left.
func (l *lull) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.there = max(0, l.there-1)
	if l.there == 0 && l.patience > 0 {
		l.timer = time.AfterFunc(l.patience, l.end)
	}
}

// askGrace is how long a caller may take to say what it wants.
const askGrace = 10 * time.Second

// serve answers one caller.
func (h *hookServer) serve(ctx context.Context, conn *hookdoor.Conn) {
	h.lull.enter()
	defer h.lull.leave()
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(askGrace))
	r, err := conn.Receive(h.listener)
	if err != nil {
		h.log.Warn().Err(err).Msg("somebody called for a hook who is not heard")
		return
	}
	_ = conn.SetDeadline(time.Time{})
	switch r.Op {
	case "event":
		h.event(ctx, conn, r)
	case "begins":
		h.command(conn, r)
	}
}

// event answers a hook.
func (h *hookServer) event(ctx context.Context, conn *hookdoor.Conn, r hookdoor.Request) {
	e, err := clienthook.Parse(clienthook.Client(r.Client), r.Event)
	e.Attended = r.Attended
	if r.Problem != "" {
		err = errors.New(r.Problem)
	}
	var answer clienthook.Answer
	follow := func() {}
	if err != nil {
		answer = h.desk.Refuse(e, err)
	} else {
		answer, follow = h.desk.Take(ctx, e, r.Terminal)
	}
	out := clienthook.Emit(e, answer)
	if err := conn.Send(hookdoor.Reply{Stdout: out.Stdout, Stderr: out.Stderr, ExitCode: out.ExitCode}); err != nil {
		h.log.Warn().Err(err).Msg("the answer to a hook did not reach it")
	}
	follow()
}

// command stays with the process that runs a command until it has ended.
func (h *hookServer) command(conn *hookdoor.Conn, r hookdoor.Request) {
	begins := h.desk.Begins(r.Job, func() { conn.HangUp(endTime) })
	if conn.Send(hookdoor.Reply{OK: begins}) != nil || !begins {
		return
	}
	end, err := conn.Receive(h.listener)
	if err != nil || end.Op != "ended" || end.Job != r.Job || end.ExitCode == nil {
		h.desk.Abandoned(r.Job, conn.Pid)
		return
	}
	h.desk.Ended(r.Job, native.Ending{ExitCode: *end.ExitCode, Level: sandbox.Level(end.Level)})
}
