package names

import (
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/sallyport/sallyport/policy"
)

const (
	// maxNames is how many names one boundary has addresses for at a time.
	maxNames = 4096
	// quarantine is how long a name keeps its address after its last use: many
	// times the TTL of an answer, for clients that don't count seconds.
	quarantine = 10 * time.Minute
)

// prefix is the block of RFC 2544, benchmarks between networks: nobody's
// address on any real network, and the guard dials none of it.
var prefix = netip.MustParsePrefix("198.18.0.0/15")

// ErrExhausted: all addresses that a boundary may hold are in use.
var ErrExhausted = errors.New("synthetic addresses exhausted")

// Synthetic reports whether addr is in the block from which every Pool gives
// out addresses, whether or not it stands for a name.
func Synthetic(addr netip.Addr) bool { return prefix.Contains(addr.Unmap()) }

// Pool maps names to synthetic addresses and back, apart for each boundary.
// The zero value is empty and ready. It is safe for concurrent use.
type Pool struct {
	mu     sync.Mutex // guards tables
	tables map[string]*table
}

// Address returns the address that stands for host in the boundary, the same
// as before if the host has one. The error is [ErrExhausted] if the boundary
// holds too many names that were used lately.
func (p *Pool) Address(boundary string, host policy.Host) (netip.Addr, error) {
	p.mu.Lock()
	t := p.tables[boundary]
	if t == nil {
		if p.tables == nil {
			p.tables = map[string]*table{}
		}
		t = newTable()
		p.tables[boundary] = t
	}
	p.mu.Unlock()
	return t.address(host)
}

// Lookup returns the host that addr stands for in the boundary, and counts as
// a use of it. It reports false for an address that stands for nothing.
func (p *Pool) Lookup(boundary string, addr netip.Addr) (policy.Host, bool) {
	p.mu.Lock()
	t := p.tables[boundary]
	p.mu.Unlock()
	if t == nil {
		return policy.Host{}, false
	}
	return t.lookup(addr.Unmap())
}

// Forget drops all addresses of a boundary, which has closed.
func (p *Pool) Forget(boundary string) {
	p.mu.Lock()
	delete(p.tables, boundary)
	p.mu.Unlock()
}

// table is the addresses of one boundary.
type table struct {
	mu     sync.Mutex // guards what follows
	byHost *simplelru.LRU[policy.Host, *lease]
	byAddr map[netip.Addr]policy.Host
	// next goes round the whole block, so an address that has become free is
	// the last to be given out again: some 127,000 names later.
	next netip.Addr
}

type lease struct {
	addr netip.Addr
	used time.Time
}

func newTable() *table {
	byHost, err := simplelru.NewLRU[policy.Host, *lease](maxNames, nil)
	if err != nil {
		panic(err) // only for a size that isn't positive
	}
	return &table{byHost: byHost, byAddr: map[netip.Addr]policy.Host{}, next: prefix.Addr()}
}

func (t *table) address(host policy.Host) (netip.Addr, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if l, ok := t.byHost.Get(host); ok {
		l.used = now
		return l.addr, nil
	}
	if t.byHost.Len() >= maxNames {
		oldest, l, _ := t.byHost.GetOldest()
		if now.Sub(l.used) < quarantine {
			return netip.Addr{}, ErrExhausted
		}
		t.byHost.Remove(oldest)
		delete(t.byAddr, l.addr)
	}
	addr := t.free()
	t.byHost.Add(host, &lease{addr, now})
	t.byAddr[addr] = host
	return addr, nil
}

// free returns an address that stands for nothing: there are more than
// maxNames. The first and the last of the block are left out, because some
// programs take them for the network's own.
func (t *table) free() netip.Addr {
	for {
		t.next = t.next.Next()
		if !prefix.Contains(t.next.Next()) {
			t.next = prefix.Addr().Next()
		}
		if _, taken := t.byAddr[t.next]; !taken {
			return t.next
		}
	}
}

func (t *table) lookup(addr netip.Addr) (policy.Host, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	host, ok := t.byAddr[addr]
	if ok {
		if l, held := t.byHost.Get(host); held {
			l.used = time.Now()
		}
	}
	return host, ok
}
