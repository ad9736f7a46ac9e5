//go:build !unix

package command

import (
	"time"
)

// Shell returns ErrUnsupported.
func Shell() (path, dialect string, err error) { return "", "", ErrUnsupported }

type family struct{}

type process struct{ ended chan struct{} }

func newFamily(bool) (*family, error) { return nil, ErrUnsupported }

func (f *family) start(string, *Spec, streams) (*process, error) { return nil, ErrUnsupported }

func (p *process) interrupt() {}

func (p *process) hold() {}

func (p *process) resume() {}

func (p *process) bounded(*Result) {}

func (p *process) tooMany() <-chan struct{} { return nil }

func (f *family) endAbandoned() []int { return nil }

func awaitEnd(int) {}

func (p *process) busy() bool { return false }

func (p *process) sweep(time.Duration) []int { return nil }

func (p *process) reap() (code int, signal string) { return -1, "" }

func (p *process) single() bool { return false }

func (p *process) id() int { return 0 }
