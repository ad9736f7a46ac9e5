package mcpbridge

import (
	"slices"
	"sync"
)

// pool runs jobs on goroutines of their own, started in the order in which
// they were submitted. It bounds how many run at once, how many wait, and how
// many bytes of messages both hold. It never blocks who submits, and never
// runs a job on their goroutine.
type pool struct {
	mu       sync.Mutex
	limit    poolLimit
	reserved int // places given out, running or not
	bytes    int // held by them
	running  int
	waiting  []*job
	closed   bool
	idle     chan struct{} // closed when closed and nothing is reserved
}

type poolLimit struct {
	running, reserved, bytes int
}

func newPool(limit poolLimit) *pool {
	return &pool{limit: limit, idle: make(chan struct{})}
}

// reserve takes a place for a job whose message has that size. It is not ok
// when the pool is full or closed. One job of any size always fits.
func (p *pool) reserve(size int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.reserved >= p.limit.reserved || (p.reserved > 0 && p.bytes+size > p.limit.bytes) {
		return false
	}
	p.reserved++
	p.bytes += size
	return true
}

// release gives a place back.
func (p *pool) release(size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reserved--
	p.bytes -= size
	p.settle()
}

// job is a function that waits for a place to run.
type job struct{ run func() }

// start runs a function in a reserved place as soon as its turn comes.
func (p *pool) start(run func()) *job {
	j := &job{run}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running >= p.limit.running {
		p.waiting = append(p.waiting, j)
		return j
	}
	p.running++
	go p.work(j)
	return j
}

// expedite runs a job at once if it is still waiting: it has been cancelled,
// so it will only give back what it holds, and others may wait for that.
func (p *pool) expedite(j *job) {
	p.mu.Lock()
	i := slices.Index(p.waiting, j)
	if i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	p.mu.Unlock()
	if i >= 0 {
		j.run()
	}
}

func (p *pool) work(j *job) {
	for ; j != nil; j = p.next() {
		j.run()
	}
}

// next takes the job whose turn it is, or gives up the caller's turn.
func (p *pool) next() *job {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		p.running--
		return nil
	}
	j := p.waiting[0]
	p.waiting = slices.Delete(p.waiting, 0, 1)
	return j
}

// close lets no further job in; the channel is closed when the last is done.
func (p *pool) close() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.closed = true
		p.settle()
	}
	return p.idle
}

func (p *pool) settle() {
	if p.closed && p.reserved == 0 {
		select {
		case <-p.idle:
		default:
			close(p.idle)
		}
	}
}
