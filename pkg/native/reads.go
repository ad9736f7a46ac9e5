package native

import (
	"context"
	"os"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/clienthook"
)

// reading notes a read that was let through: what it shows counts as seen only if nobody changes the file until then.
func (d *Desk) reading(s *clientSession, e clienthook.Event) {
	const most = 1000
	if len(s.reads) >= most {
		clear(s.reads)
	}
	s.reads[keyOf(e)] = d.Clock()
}

// clockGrain is how far the times of files lag behind, at most: Linux takes them at its ticks.
const clockGrain = 20 * time.Millisecond

// seen counts what a read has shown, as it is counted for read_file.
func (d *Desk) seen(s *clientSession, e clienthook.Event) {
	began, was := s.reads[keyOf(e)]
	delete(s.reads, keyOf(e))
	a, _ := e.Action.(clienthook.Read)
	if !was || e.Phase != clienthook.After {
		return
	}
	if info, err := os.Stat(d.path(e, a.Path)); err != nil || !info.ModTime().Before(began.Add(-clockGrain)) {
		return
	}
	if e.Response.Lines > 0 {
		a.From, a.Lines = e.Response.From, e.Response.Lines
		e.Action = a
	}
	call := d.translate(e)
	request, err := d.request(e, call)
	if err == nil && !call.beyond {
		d.Engine.Run(context.Background(), call.tool, request)
	}
}
