package load

import (
	"fmt"
	"time"
)

// keepAlive sends one request after another.
func (w *worker) keepAlive() error {
	c, err := w.open(w.s.name(w.index), "http/1.1", w.t.clientTLS(w.s, "http/1.1"))
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Time{})
	req := w.t.request(w.s, "GET", w.s.name(w.index), pathSmall, "")
	for !w.done.Load() && !c.m.close {
		start := time.Now()
		if err := w.ask(c, req); err != nil {
			return err
		}
		w.took(start)
	}
	return nil
}

func (w *worker) ask(c *conn, req []byte) error {
	if _, err := c.Write(req); err != nil {
		return err
	}
	return c.expect(w, small, 1, nil)
}

// fresh makes one tunnel after another, each for a single request.
func (w *worker) fresh() error {
	cfg := w.t.clientTLS(w.s, "http/1.1")
	for ; !w.done.Load(); w.index += w.s.Workers {
		start, name := time.Now(), w.s.name(w.index)
		c, err := w.open(name, "http/1.1", cfg)
		if err != nil {
			return err
		}
		err = w.ask(c, w.t.request(w.s, "GET", name, pathSmall, ""))
		c.Close()
		if err != nil {
			return err
		}
		w.took(start)
	}
	return nil
}

// bulk transfers large bodies; an operation is one MiB.
func (w *worker) bulk() error {
	name := w.s.name(w.index)
	c, err := w.open(name, "http/1.1", w.t.clientTLS(w.s, "http/1.1"))
	if err != nil {
		return err
	}
	defer c.Close()
	for !w.done.Load() && !c.m.close {
		_ = c.SetDeadline(time.Now().Add(patience))
		start := time.Now()
		each := func() {
			w.took(start)
			start = time.Now()
		}
		if err := w.transfer(c, name, each); err != nil {
			return err
		}
	}
	return nil
}

func (w *worker) transfer(c *conn, name string, each func()) error {
	if w.s.Kind == Down {
		if _, err := c.Write(w.t.request(w.s, "GET", name, fmt.Sprint(pathDown, w.s.MiB), "")); err != nil {
			return err
		}
		return c.expect(w, piece, w.s.MiB, each)
	}
	length := fmt.Sprintf("Content-Length: %d\r\n", w.s.MiB*mib)
	if _, err := c.Write(w.t.request(w.s, "POST", name, pathUp, length)); err != nil {
		return err
	}
	for range w.s.MiB {
		if _, err := c.Write(piece); err != nil {
			return err
		}
		each()
	}
	return c.expect(w, small, 1, nil)
}
