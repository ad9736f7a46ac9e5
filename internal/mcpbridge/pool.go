package mcpbridge

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// pool bounds what runs at once, what waits for its turn, and how many bytes of messages both hold. Turns are given in
// the order in which they were asked for. It never blocks who submits, and never runs a job on their goroutine. A job
// that waits for a person can leave, and come back: what it held is then there for others, and counted apart. One that
// waits for an earlier job keeps its place, and lets others run.
type pool struct {
	mu      sync.Mutex
	limit   poolLimit
	all     use
	by      map[string]*use // what each client has of it, where clients are told apart
	running int
	waiting []chan struct{} // each closed when its turn has come
	closed  bool
	idle    chan struct{} // closed when closed and nothing is used

	jobs  chan func()  // to a goroutine that has nothing to do
	spare atomic.Int32 // goroutines that have nothing to do, or are about to
}

// poolLimit are the limits of a pool. The bytes are those of the places, and as many again of the jobs that are away.
type poolLimit struct {
	running, places, bytes, away int
	// spare is how many goroutines stay for later jobs, until the pool is closed: one that has run a job has the stack that
	// the next needs, and a new one grows it in several steps.
	spare int32
}

// use is what jobs have of a pool: places, running or not, and those of jobs that have left and will come back.
type use struct {
	places, bytes, away, awayBytes int
}

func newPool(limit poolLimit) *pool {
	return &pool{limit: limit, by: make(map[string]*use), idle: make(chan struct{}), jobs: make(chan func())}
}

// place is what a message of a size holds in a pool, as one of a client where that is known.
type place struct {
	pool   *pool
	size   int
	client string
	whole  *place // in another pool, given back with this one; nil for none
}

// reserve takes a place for a message. It is not ok when the pool is full or closed. One of any size always fits.
func (p *pool) reserve(size int) (held place, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held = place{pool: p, size: size}
	if p.closed || p.all.places >= p.limit.places || p.all.places > 0 && p.all.bytes+size > p.limit.bytes {
		return held, false
	}
	held.count(1, 0)
	return held, true
}

// within also takes a place in the pool of all. It is not ok when that is full; the place is still to be released then.
func (h place) within(all *pool) (place, bool) {
	whole, ok := all.reserve(h.size)
	if ok {
		h.whole = &whole
	}
	return h, ok
}

// count adds to what is used, and needs the pool's lock.
func (h place) count(places, away int) {
	p := h.pool
	own := p.by[h.client]
	for _, u := range []*use{&p.all, own} {
		if u != nil {
			*u = use{u.places + places, u.bytes + places*h.size, u.away + away, u.awayBytes + away*h.size}
		}
	}
	if own != nil && own.places+own.away == 0 {
		delete(p.by, h.client)
	}
	p.settle()
}

// join counts a place as one of a client. It is not ok where the client has its share: it never gets more than most,
// nor more than it leaves free, and so never all.
func (h place) join(client string, most int) (place, bool) {
	p := h.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	own := p.by[client]
	if own == nil {
		own = &use{}
	}
	if own.places >= most || own.places > 0 && (own.places >= p.limit.places-p.all.places || own.bytes+h.size > p.limit.bytes-p.all.bytes) {
		return h, false
	}
	own.places++
	own.bytes += h.size
	h.client, p.by[client] = client, own
	return h, true
}

// shrink keeps what a message takes of what was reserved for it.
func (h place) shrink(size int) place {
	if h.whole != nil {
		whole := h.whole.shrink(size)
		h.whole = &whole
	}
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	h.pool.all.bytes -= h.size - size
	h.size = size
	return h
}

func (h place) release() {
	if h.whole != nil {
		h.whole.release()
	}
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	h.count(-1, 0)
}

// start runs a function in the place, on another goroutine, as soon as its turn comes. Once ctx is done it runs at once:
// who is cancelled only gives back what it holds, and others may wait for that.
func (h place) start(ctx context.Context, run func()) {
	p := h.pool
	p.mu.Lock()
	turn := p.queue(len(p.waiting))
	p.mu.Unlock()
	job := func() {
		p.await(ctx, turn)
		run()
		p.pass()
	}
	select {
	case p.jobs <- job:
	default:
		go p.work(job)
	}
}

// work runs a job, and stays for others where there are few who do.
func (p *pool) work(job func()) {
	for {
		job()
		job = nil // nothing of it is held while there is nothing to do
		if p.spare.Add(1) > p.limit.spare {
			p.spare.Add(-1)
			return
		}
		select {
		case job = <-p.jobs:
			p.spare.Add(-1)
		case <-p.idle:
			return
		}
	}
}

// aside runs wait, which waits for a person, while the place and the turn are free for others. With ErrTooManyQuestions
// it has not run: as much as may be is away already. It comes back to a place at once, and to a turn before all that has
// not run yet.
func (h place) aside(ctx context.Context, wait func()) error {
	p := h.pool
	p.mu.Lock()
	own := p.by[h.client]
	if p.all.away >= p.limit.away || p.all.away > 0 && p.all.awayBytes+h.size > p.limit.bytes || own != nil && own.away >= maxQuestions {
		p.mu.Unlock()
		return ErrTooManyQuestions
	}
	h.count(-1, 1)
	p.next()
	p.mu.Unlock()
	defer h.comeBack(ctx, 1)
	wait()
	return nil
}

// parked runs wait, which waits for an earlier job, while the turn is free for others.
func (h place) parked(ctx context.Context, wait func()) {
	h.pool.pass()
	defer h.comeBack(ctx, 0)
	wait()
}

func (h place) comeBack(ctx context.Context, places int) {
	p := h.pool
	p.mu.Lock()
	h.count(places, -places)
	turn := p.queue(0)
	p.mu.Unlock()
	p.await(ctx, turn)
}

// queue asks for a turn, before those that wait from an index on. It needs the lock.
func (p *pool) queue(at int) chan struct{} {
	turn := make(chan struct{})
	if p.running < p.limit.running {
		p.running++
		close(turn)
	} else {
		p.waiting = slices.Insert(p.waiting, at, turn)
	}
	return turn
}

// await waits for a turn, but not longer than until ctx is done.
func (p *pool) await(ctx context.Context, turn chan struct{}) {
	select {
	case <-turn:
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

func (p *pool) pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next()
}

// next gives a turn to the job that waits for one, or to nobody. It needs the lock.
func (p *pool) next() {
	if len(p.waiting) == 0 || p.running > p.limit.running {
		p.running--
		return
	}
	close(p.waiting[0])
	p.waiting = slices.Delete(p.waiting, 0, 1)
}

// close lets no further job in; the channel is closed when the last is done.
func (p *pool) close() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.settle()
	return p.idle
}

func (p *pool) settle() {
	if p.closed && p.all.places+p.all.away == 0 {
		select {
		case <-p.idle:
		default:
			close(p.idle)
		}
	}
}
