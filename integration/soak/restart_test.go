package soak_test

import (
	"io"
	"log"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var silent = log.New(io.Discard, "", 0)

// An edge that is restarted under load, by signal or by force, answers again at
// the same address with its static boundaries, and at no moment lets anything
// through that its policy denies. Ledger: ED-28
func TestRestartUnderLoad(t *testing.T) {
	ca, origin, upstream := newOrigin(t)
	e := startEdge(t, ca, upstream)
	stop := make(chan struct{})
	var served, turnedDown, lost atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		client := e.client(30 * time.Second)
		wg.Go(func() {
			for n := i; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				host := []string{allowedHost, boundHost, deniedHost}[n%3]
				resp, err := client.Get("https://" + host + "/")
				if err != nil {
					lost.Add(1)                  // refused by CONNECT, or in flight when the edge ended
					time.Sleep(time.Millisecond) // a dead edge refuses faster than anybody would ask
					continue
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				switch {
				case host == deniedHost:
					t.Errorf("a denied host answered %s", resp.Status)
				case resp.StatusCode == http.StatusOK:
					served.Add(1)
				default:
					turnedDown.Add(1)
				}
			}
		})
	}
	for round := range atLength(4, 40) {
		before := served.Load()
		if round%2 == 0 {
			e.end()
		} else {
			e.kill()
		}
		down := time.Now()
		e.start(e.proxy)
		for deadline := time.Now().Add(30 * time.Second); served.Load() <= before+8; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("the edge serves nothing after its restart")
			}
		}
		t.Logf("served again %v after its end", time.Since(down).Round(time.Millisecond))
	}
	close(stop)
	wg.Wait()
	t.Logf("%d served, %d turned down, %d refused or in flight when the edge ended", served.Load(), turnedDown.Load(), lost.Load())
	for _, r := range origin.Received() {
		if r.Host == deniedHost {
			t.Errorf("the denied host was asked for %s", r.Path)
		}
	}
}
