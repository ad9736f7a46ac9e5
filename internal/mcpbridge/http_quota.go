package mcpbridge

import (
	"sync"

	"golang.org/x/time/rate"
)

// quota is what one principal may use.
type quota struct {
	rate   *rate.Limiter
	places *pool // only its places: requests run on net/http's goroutines
}

// quotaTable has the quota of each principal. It grows with the principals
// that authenticated, not with what is sent.
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
		q = &quota{
			rate: rate.NewLimiter(rate.Limit(t.options.RequestsPerSecond), t.options.Burst),
			places: newPool(poolLimit{
				reserved: t.options.MaxInFlight,
				bytes:    heldMessages * int(t.options.MaxBody),
			}),
		}
		t.by[principal] = q
	}
	return q
}
