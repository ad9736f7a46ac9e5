package mcpbridge

import (
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// What all clients of one principal may use together, as a multiple of what one of them may.
const (
	clientsInFlight = 4
	clientsRate     = 10
)

// quota is what one principal may use. Its clients share it: one of them gets its own limit, and no more than what it
// leaves to the others.
type quota struct {
	options HTTPOptions
	rate    *rate.Limiter
	places  *pool // only its places: requests run on goroutines of their own
	tapes   tapes

	mu     sync.Mutex
	rates  map[string]*clientRate
	tidied int // how many rates were left when last looked through
	shares map[string]*share
}

// clientRate is how fast one client may send.
type clientRate struct {
	*rate.Limiter
	last time.Time
}

// share is what one client holds of its principal's quota.
type share struct {
	of     *quota
	client string

	// Guarded by the quota's mutex.
	held, bytes, away int
}

// quotaTable has the quota of each principal. It grows with the principals that authenticated, not with what is sent.
type quotaTable struct {
	options HTTPOptions

	mu sync.Mutex
	by map[string]*quota
}

func newQuotaTable(options HTTPOptions) *quotaTable {
	return &quotaTable{options: options, by: make(map[string]*quota)}
}

func (t *quotaTable) of(principal string) *quota {
	t.mu.Lock()
	defer t.mu.Unlock()
	q, ok := t.by[principal]
	if !ok {
		o := t.options
		q = &quota{
			options: o,
			rate:    rate.NewLimiter(rate.Limit(clientsRate*o.RequestsPerSecond), clientsRate*o.Burst),
			places: newPool(poolLimit{
				reserved: clientsInFlight * o.MaxInFlight,
				bytes:    heldMessages * int(o.MaxBody),
				away:     clientsInFlight * maxQuestions,
			}),
			rates:  make(map[string]*clientRate),
			shares: make(map[string]*share),
		}
		t.by[principal] = q
	}
	return q
}

// clientOf tells the clients of one principal apart: by their protocol session where they have one, else by their
// connection.
func (h *HTTPHandler) clientOf(r *http.Request, principal string) string {
	if id := r.Header.Get(headerSession); id != "" && h.sessions.has(id, principal) {
		return "session " + id
	}
	return "connection " + r.RemoteAddr
}

// rateMemory is after how long without a request a client's rate is forgotten: by then it could send a whole burst
// again, at any but the lowest rates.
const rateMemory = 10 * time.Second

// allow takes one request of a client from the rates.
func (q *quota) allow(client string) bool {
	return q.rateOf(client).Allow() && q.rate.Allow()
}

func (q *quota) rateOf(client string) *clientRate {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	if len(q.rates) >= 2*q.tidied+64 {
		for name, r := range q.rates {
			if now.Sub(r.last) > rateMemory {
				delete(q.rates, name)
			}
		}
		q.tidied = len(q.rates)
	}
	c := q.rates[client]
	if c == nil {
		c = &clientRate{Limiter: rate.NewLimiter(rate.Limit(q.options.RequestsPerSecond), q.options.Burst)}
		q.rates[client] = c
	}
	c.last = now
	return c
}

// join counts a message that has a place as one of a client. It is not ok where the client has its share: it never
// gets more than it leaves free, and so never all.
func (q *quota) join(held place, client string) (place, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.shares[client]
	if s == nil {
		s = &share{of: q, client: client}
	}
	places, bytes := q.places.free()
	if s.held >= q.options.MaxInFlight || s.held > 0 && (s.held >= places || s.bytes+held.size > bytes) {
		return held, false
	}
	s.held++
	s.bytes += held.size
	q.shares[client] = s
	held.share = s
	return held, true
}

// release gives a place of the share back. A nil share holds none.
func (s *share) release(size int) { s.change(-1, -size, 0) }

// leave is the share's side of pool.leave.
func (s *share) leave(size int) bool { return s.change(-1, -size, 1) }

func (s *share) comeBack(size int) { s.change(1, size, -1) }

func (s *share) change(held, bytes, away int) bool {
	if s == nil {
		return true
	}
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if away > 0 && s.away >= maxQuestions {
		return false
	}
	s.held, s.bytes, s.away = s.held+held, s.bytes+bytes, s.away+away
	if s.held == 0 && s.away == 0 {
		delete(s.of.shares, s.client)
	}
	return true
}
