package workspace

import (
	"context"
	"time"
)

// WithoutExchange makes Commit use the fallback of file systems that cannot exchange names.
func WithoutExchange() Option { return func(w *Workspace) { w.abilities.exchange = false } }

// WithoutLease makes Commit use the way of files that cannot be leased.
func WithoutLease() Option { return func(w *Workspace) { w.abilities.lease = false } }

// BesideTarget makes temporary files beside their targets, as on another file system.
func BesideTarget() Option { return func(w *Workspace) { w.beside.Store(true) } }

// Die gives up the workspace's sign of life as the end of its process would.
func (w *Workspace) Die() {
	w.owner.file.Close()
	w.owner.token = ""
}

// WithPatience shortens the waits for others.
func WithPatience(lock, writer time.Duration) Option {
	return func(w *Workspace) { w.patience = patience{lock: lock, writer: writer} }
}

// BeforeSwap calls f before every exchange of two names.
func BeforeSwap(f func()) Option { return func(w *Workspace) { w.beforeSwap = f } }

// ApplySteps makes the first n steps of a change, and then gives up what its process would lose by dying. It reports whether
// that was all of them.
func ApplySteps(p *Prepared, n int) (whole bool) {
	_ = p.awaitFlush()
	for _, s := range p.steps[:min(n, len(p.steps))] {
		_ = s.apply(context.Background())
	}
	for _, c := range p.planned {
		for _, t := range []*temp{c.temp, c.gone} {
			if t != nil {
				t.keep = true
				_ = t.discard()
			}
		}
		c.before.release()
	}
	p.locks.close()
	_ = closeDir(&p.temps)
	p.done = true
	p.unlock()
	return n >= len(p.steps)
}

// SettledAtOnce takes every state of a place's directory for one that can be told from the next. LooksAtPlaces counts how
// often such a directory was read.
func SettledAtOnce() Option { return func(w *Workspace) { w.links.settle = -time.Hour } }

func (w *Workspace) LooksAtPlaces() int { return w.links.looks }
