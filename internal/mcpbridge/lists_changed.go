package mcpbridge

import (
	"slices"
	"sync"
	"time"
)

const (
	// settleTime is how long a change waits for others: servers start side by side.
	settleTime = 100 * time.Millisecond
	// quietTime is the least time between two rounds of news, so that a server whose lists never rest costs clients little.
	quietTime = time.Second
)

// changingLists are those that can change, as the protocol calls them.
var changingLists = []string{"tools", "prompts", "resources"}

// ListChanged tells clients that a list has changed: "tools", "prompts" or "resources", which has the templates too. It
// does not wait, and may be called as often as one likes: clients hear of a list at most once a second. Without
// [Config.Beside] it does nothing.
func (s *Server) ListChanged(list string) {
	if s.config.Beside == nil {
		return
	}
	if !slices.Contains(changingLists, list) {
		s.log.Error().Str("list", shorten(list)).Msg("there is no such list that could change")
		return
	}
	s.news.changed(list)
}

// news passes on which lists have changed, to whoever follows them.
type news struct {
	mu        sync.Mutex
	followers map[*follower]bool
	waiting   []string // lists that have changed since the last round
	last      time.Time
}

func (n *news) changed(list string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.waiting) == 0 {
		time.AfterFunc(max(settleTime, quietTime-time.Since(n.last)), n.round)
	}
	n.waiting = include(n.waiting, list)
}

func (n *news) round() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = time.Now()
	for f := range n.followers {
		f.add(n.waiting)
	}
	n.waiting = nil
}

// follower is who is told of lists. What it has not been told yet waits, each list once, so that one that does not listen holds
// nothing up.
type follower struct {
	of   []string
	wake chan struct{} // has one while something waits

	mu      sync.Mutex
	waiting []string
}

// follow has somebody told of lists from now on, until leave.
func (n *news) follow(lists []string) *follower {
	f := &follower{of: lists, wake: make(chan struct{}, 1)}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.followers == nil {
		n.followers = make(map[*follower]bool)
	}
	n.followers[f] = true
	return f
}

// leave ends it; nobody does not follow.
func (n *news) leave(f *follower) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.followers, f)
}

func (f *follower) add(lists []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, list := range lists {
		if slices.Contains(f.of, list) {
			f.waiting = include(f.waiting, list)
		}
	}
	if len(f.waiting) > 0 {
		select {
		case f.wake <- struct{}{}:
		default:
		}
	}
}

// woken is a channel with something in it when there is news; nobody gets any.
func (f *follower) woken() <-chan struct{} {
	if f == nil {
		return nil
	}
	return f.wake
}

// take gives what waits.
func (f *follower) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	taken := f.waiting
	f.waiting = nil
	return taken
}

func include(lists []string, list string) []string {
	if slices.Contains(lists, list) {
		return lists
	}
	return append(lists, list)
}

// changedMethod is the notification about a list.
func changedMethod(list string) string { return "notifications/" + list + "/list_changed" }

// changedNews is that notification in the initialize era.
func changedNews(list string) []byte { return encodeRequest("", changedMethod(list), struct{}{}) }

// announce tells the client of a connection of lists that change, in the way of the initialize era: unasked.
func (c *conn) announce(lists *follower) {
	defer c.server.news.leave(lists)
	for {
		select {
		case <-lists.woken():
			for _, list := range lists.take() {
				c.send(changedNews(list))
			}
		case <-c.ctx.Done():
			return
		}
	}
}
