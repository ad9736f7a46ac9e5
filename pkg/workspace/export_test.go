package workspace

import "time"

// WithoutExchange makes Commit use the fallback of file systems that cannot exchange names.
func WithoutExchange() Option { return func(w *Workspace) { w.abilities.exchange = false } }

// WithoutLease makes Commit use the way of files that cannot be leased.
func WithoutLease() Option { return func(w *Workspace) { w.abilities.lease = false } }

// WithPatience shortens the waits for others.
func WithPatience(lock, writer time.Duration) Option {
	return func(w *Workspace) { w.patience = patience{lock: lock, writer: writer} }
}

// BeforeSwap calls f before every exchange of two names.
func BeforeSwap(f func()) Option { return func(w *Workspace) { w.beforeSwap = f } }
