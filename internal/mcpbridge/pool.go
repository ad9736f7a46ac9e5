package mcpbridge

import (
	"context"
	"slices"
	"sync"
)

// pool runs jobs on goroutines of their own, started in the order in which they were submitted. It bounds how many
// run at once, how many wait, and how many bytes of messages both hold. It never blocks who submits, and never runs a
// job on their goroutine. A job that waits for a person can leave, and come back: what it held is then there for
// others, and counted apart. One that waits for an earlier job keeps its place, and lets others run.
type pool struct {
	mu       sync.Mutex
	limit    poolLimit
	reserved int // places given out, running or not
	bytes    int // held by them
	away     int // jobs that have left and will come back
	awayHeld int // bytes held by them
	running  int
	waiting  []*job
	closed   bool
	idle     chan struct{} // closed when closed and nothing is reserved or away
}

// poolLimit are the limits of a pool. The bytes are those of the reserved places, and as many again of the jobs that
// are away. A pool that runs nothing, running 0, only has places.
type poolLimit struct {
	running, reserved, bytes int
	away                     int // jobs that are away; 0 means maxQuestions
}

func newPool(limit poolLimit) *pool {
	if limit.away == 0 {
		limit.away = maxQuestions
	}
	return &pool{limit: limit, idle: make(chan struct{})}
}

// reserve takes a place for a job whose message has that size. It is not ok when the pool is full or closed. One job
// of any size always fits.
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

// free tells how many places there are for others, and for how many bytes.
func (p *pool) free() (places, bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limit.reserved - p.reserved, p.limit.bytes - p.bytes
}

// release gives a place back.
func (p *pool) release(size int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reserved--
	p.bytes -= size
	p.settle()
}

// leave gives a running job's place and turn to others. It is not ok, and nothing has changed, when as much as may be
// is away already.
func (p *pool) leave(size int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away >= p.limit.away || (p.away > 0 && p.awayHeld+size > p.limit.bytes) {
		return false
	}
	p.away++
	p.awayHeld += size
	p.reserved--
	p.bytes -= size
	p.passOn()
	return true
}

// comeBack takes a place again, at once, and waits for a turn, before all that has not run yet; but not longer than
// until ctx is done, since who is cancelled only gives back what it holds.
func (p *pool) comeBack(ctx context.Context, size int) {
	p.mu.Lock()
	p.away--
	p.awayHeld -= size
	p.reserved++
	p.bytes += size
	p.resume(ctx)
}

// resume waits for a turn. It is called with the lock, and gives it up.
func (p *pool) resume(ctx context.Context) {
	turn := &job{resume: make(chan struct{})}
	if p.running < p.limit.running || p.limit.running == 0 {
		p.running++
		p.mu.Unlock()
		return
	}
	p.waiting = slices.Insert(p.waiting, 0, turn)
	p.mu.Unlock()
	select {
	case <-turn.resume:
		return
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, turn); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		p.running++
	}
}

// park gives a running job's turn to others, and keeps its place: it waits for an earlier job. unpark takes a turn
// again, before all that has not run yet, or none where ctx is done: who is cancelled only gives back what it holds.
func (p *pool) park() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passOn()
}

func (p *pool) unpark(ctx context.Context) {
	p.mu.Lock()
	p.resume(ctx)
}

// passOn gives the turn of a running job to the next that waits.
func (p *pool) passOn() {
	j := p.take()
	if j == nil {
		return
	}
	go p.work(j)
}

// job is a function that waits for a place to run, or one that has come back.
type job struct {
	run    func()
	resume chan struct{} // closed to have it go on; nil for a function
}

// start runs a function in a reserved place as soon as its turn comes.
func (p *pool) start(run func()) *job {
	j := &job{run: run}
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

// expedite runs a job at once if it is still waiting: it has been cancelled, so it will only give back what it holds,
// and others may wait for that.
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
	return p.take()
}

// take takes a turn back: for the function that is next, which is returned, for a job that has come back, or for
// nobody.
func (p *pool) take() *job {
	if len(p.waiting) == 0 || p.running > p.limit.running {
		p.running--
		return nil
	}
	j := p.waiting[0]
	p.waiting = slices.Delete(p.waiting, 0, 1)
	if j.resume != nil {
		close(j.resume)
		return nil
	}
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
	if p.closed && p.reserved == 0 && p.away == 0 {
		select {
		case <-p.idle:
		default:
			close(p.idle)
		}
	}
}

// place is what a message holds in a pool, and of the client's share in it where there is one.
type place struct {
	pool  *pool
	size  int
	share *share
}

func (h place) release() {
	h.share.release(h.size)
	h.pool.release(h.size)
}

// shrink keeps what a message takes of what was reserved for it.
func (h place) shrink(size int) place {
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	h.pool.bytes -= h.size - size
	h.size = size
	return h
}

func (h place) leave() bool {
	if !h.share.leave(h.size) {
		return false
	}
	if !h.pool.leave(h.size) {
		h.share.comeBack(h.size)
		return false
	}
	return true
}

func (h place) comeBack(ctx context.Context) {
	h.share.comeBack(h.size)
	h.pool.comeBack(ctx, h.size)
}

// parked runs wait while the turn is free for others.
func (h place) parked(ctx context.Context, wait func()) {
	h.pool.park()
	defer h.pool.unpark(ctx)
	wait()
}

// aside runs wait while the place is free for others.
func (h place) aside(ctx context.Context, wait func()) error {
	if !h.leave() {
		return ErrTooManyQuestions
	}
	defer h.comeBack(ctx)
	wait()
	return nil
}
