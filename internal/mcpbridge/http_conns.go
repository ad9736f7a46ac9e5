package mcpbridge

import (
	"cmp"
	"context"
	"crypto/tls"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
)

// connTable bounds the connections of an HTTP server, so that whoever opens many takes no place from others. A new
// one always gets in where an older one can be given up: first those on which no request has shown a token, then
// those that are idle between two requests. Where there are neither, the new one is closed.
type connTable struct {
	max int

	mu  sync.Mutex
	now uint64 // counts the changes
	by  map[net.Conn]*heldConn
}

type heldConn struct {
	conn   net.Conn
	client netip.Prefix
	known  bool // a request on it has shown a token
	idle   bool
	since  uint64 // when it came, or became idle
}

// One client may hold half of all connections, and so may nobody in particular: a connection is anonymous for a
// moment if it means well.
const (
	clientShare    = 2
	anonymousShare = 4
)

func newConnTable(max int) *connTable {
	return &connTable{max: max, by: make(map[net.Conn]*heldConn)}
}

// watch is http.Server.ConnState.
func (t *connTable) watch(conn net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if surplus := t.add(conn); surplus != nil {
			// Not tls.Conn.Close, which says goodbye and can wait for it.
			if secured, ok := surplus.(*tls.Conn); ok {
				surplus = secured.NetConn()
			}
			_ = surplus.Close() // it is given up
		}
	case http.StateActive, http.StateIdle:
		t.turn(conn, state == http.StateIdle)
	default:
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.by, conn)
	}
}

// add takes a connection in and returns the one that has to make room, if any: the new one where no other can be given up.
func (t *connTable) add(conn net.Conn) (surplus net.Conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now++
	added := &heldConn{conn: conn, client: clientOf(conn.RemoteAddr()), since: t.now}
	t.by[conn] = added
	all := slices.Collect(maps.Values(t.by))
	ofClient := slices.DeleteFunc(slices.Clone(all), func(held *heldConn) bool { return held.client != added.client })
	anonymous := 0
	for _, held := range all {
		if !held.known {
			anonymous++
		}
	}
	switch {
	case len(ofClient) > t.max/clientShare:
		all = ofClient
	case len(all) <= t.max && anonymous <= t.max/anonymousShare:
		return nil
	}
	type kind struct {
		rank   int // the least is given up first
		client netip.Prefix
	}
	kindOf := func(held *heldConn) kind {
		switch {
		case held == added:
			return kind{2, held.client}
		case !held.known:
			return kind{0, held.client}
		case held.idle:
			return kind{1, held.client}
		}
		return kind{3, held.client}
	}
	count := make(map[kind]int)
	for _, held := range all {
		count[kindOf(held)]++
	}
	// Of the client that has most of the kind, the oldest.
	given := slices.MinFunc(all, func(a, b *heldConn) int {
		ofA, ofB := kindOf(a), kindOf(b)
		return cmp.Or(ofA.rank-ofB.rank, count[ofB]-count[ofA], cmp.Compare(a.since, b.since))
	})
	delete(t.by, given.conn)
	return given.conn
}

func (t *connTable) turn(conn net.Conn, idle bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if held, ok := t.by[conn]; ok {
		t.now++
		held.idle = idle
		if idle {
			held.since = t.now
		}
	}
}

type connKey struct{}

// withConn is http.Server.ConnContext.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// know notes that a request on its connection has shown a token.
func (t *connTable) know(ctx context.Context) {
	conn, _ := ctx.Value(connKey{}).(net.Conn)
	t.mu.Lock()
	defer t.mu.Unlock()
	if held, ok := t.by[conn]; ok {
		held.known = true
	}
}

// clientOf is who is behind an address, as far as it tells: of IPv6 the network, which one machine has to itself, and
// all of the loopback.
func clientOf(address net.Addr) netip.Prefix {
	tcp, ok := address.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	if ip.IsLoopback() {
		return netip.PrefixFrom(netip.IPv6Loopback(), 128)
	}
	bits := 64
	if ip.Is4() {
		bits = 32
	}
	client, _ := ip.Prefix(bits) // which exists for every address
	return client
}
