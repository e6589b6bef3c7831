package wire

import (
	"slices"
	"time"
)

// take removes the connection to an origin that came to rest last.
func (o *Origins) take(at origin) *originConn {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.idle[at]
	if len(all) == 0 {
		return nil
	}
	c := all[len(all)-1]
	o.forget(c)
	return c
}

// keep lets c rest, in the place of the one that has rested longest if there
// are too many.
func (o *Origins) keep(c *originConn) {
	for _, surplus := range o.add(c) {
		surplus.end()
	}
}

func (o *Origins) add(c *originConn) (surplus []*originConn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return []*originConn{c}
	}
	if o.idle == nil {
		o.idle = map[origin][]*originConn{}
	}
	c.since = time.Now()
	o.idle[c.at] = append(o.idle[c.at], c)
	c.older, o.newest = o.newest, c
	if c.older != nil {
		c.older.newer = c
	} else {
		o.oldest = c
	}
	o.resting++
	if all := o.idle[c.at]; len(all) > o.KeepPerHost {
		surplus = append(surplus, all[0])
		o.forget(all[0])
	}
	if o.resting > o.KeepInAll {
		surplus = append(surplus, o.oldest)
		o.forget(o.oldest)
	}
	if o.sweeper == nil {
		o.sweeper = time.AfterFunc(o.KeepFor, o.sweep)
	}
	return surplus
}

// forget takes c out. The lists of hosts that are done with are dropped.
func (o *Origins) forget(c *originConn) {
	all := o.idle[c.at]
	// The last is the one asked for most often.
	for i := len(all) - 1; i >= 0; i-- {
		if all[i] == c {
			all = slices.Delete(all, i, i+1)
			break
		}
	}
	if len(all) == 0 {
		delete(o.idle, c.at)
	} else {
		o.idle[c.at] = all
	}
	if c.older != nil {
		c.older.newer = c.newer
	} else {
		o.oldest = c.newer
	}
	if c.newer != nil {
		c.newer.older = c.older
	} else {
		o.newest = c.older
	}
	c.older, c.newer = nil, nil
	o.resting--
}

// sweep closes what has rested for too long, and comes again when the next has.
func (o *Origins) sweep() {
	var late []*originConn
	o.mu.Lock()
	for o.oldest != nil && time.Since(o.oldest.since) >= o.KeepFor {
		late = append(late, o.oldest)
		o.forget(o.oldest)
	}
	switch {
	case o.closed:
	case o.oldest == nil:
		o.sweeper = nil
	default:
		o.sweeper.Reset(o.KeepFor - time.Since(o.oldest.since))
	}
	o.mu.Unlock()
	for _, c := range late {
		c.end()
	}
}
