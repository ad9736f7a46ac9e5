package command

import (
	"fmt"
	"sync"
	"time"
)

const (
	progressInterval = 100 * time.Millisecond
	progressLimit    = 16<<10 - 100 // bytes of a piece, with room for the note of what was skipped
)

// progress hands text to a slow reader without slowing down the command: what comes faster than it may be told is skipped.
type progress struct {
	tell func(string)

	mu      sync.Mutex
	waiting []byte
	skipped int

	arrived chan struct{} // holds one token while something waits
	closing chan struct{}
	done    chan struct{}
}

func startProgress(tell func(string)) *progress {
	if tell == nil {
		return nil
	}
	p := &progress{
		tell:    tell,
		arrived: make(chan struct{}, 1),
		closing: make(chan struct{}),
		done:    make(chan struct{}),
	}
	go p.run()
	return p
}

func (p *progress) add(text []byte) {
	if len(text) == 0 {
		return
	}
	p.mu.Lock()
	take := text[:min(len(text), progressLimit-len(p.waiting))]
	take = wholeRunes(take, len(take) < len(text))
	p.waiting = append(p.waiting, take...)
	p.skipped += countRunes(text[len(take):])
	p.mu.Unlock()
	select {
	case p.arrived <- struct{}{}:
	default:
	}
}

// stop tells what still waits and returns when the last call has.
func (p *progress) stop() {
	if p == nil {
		return
	}
	close(p.closing)
	<-p.done
}

func (p *progress) run() {
	defer close(p.done)
	for open := true; open; {
		select {
		case <-p.arrived:
		case <-p.closing:
			open = false
		}
		p.deliver()
		select {
		case <-time.After(progressInterval):
		case <-p.closing:
		}
	}
}

func (p *progress) deliver() {
	p.mu.Lock()
	text, skipped := string(p.waiting), p.skipped
	p.waiting, p.skipped = p.waiting[:0], 0
	p.mu.Unlock()
	if skipped > 0 {
		text += fmt.Sprintf("\n[... %d characters not shown while running ...]\n", skipped)
	}
	if text != "" {
		p.tell(text)
	}
}
