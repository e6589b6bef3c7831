package edge_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
)

// What a sandbox may do with a secret ends: with 429 and a record, at once and
// in the middle of a body, and a changed boundary gives nothing back. Requests
// without the secret go on. Ledger: SI-11, SI-18
func TestBudgets(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		budget inject.Budget
		method string
		body   int
		good   int // requests before it is used up
	}{
		{"uses", inject.Budget{Uses: 3}, "POST", 10, 3},
		{"methods", inject.Budget{Methods: map[string]int{"POST": 2, "GET": 9}}, "POST", 10, 2},
		{"another method", inject.Budget{Methods: map[string]int{"GET": 9}}, "POST", 10, 0},
		{"bytes, many requests", inject.Budget{Bytes: 2000}, "POST", 1000, 1},
		{"bytes, one request", inject.Budget{Bytes: 100_000}, "POST", 1 << 20, 0},
	}
	for _, h2 := range []bool{false, true} {
		for _, c := range cases {
			b := newBed(t)
			b.origin("bound.allowed.test", func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				io.WriteString(w, "ok")
			})
			bounded := binding
			bounded.Budget = &c.budget
			spec := boundary.Spec{ID: boxID, Bindings: []inject.Binding{bounded}}
			placeholder := b.put(spec, defaultPolicy)["API_TOKEN"]
			b.start()
			client := b.client(h2)
			send := func(authorization string) int {
				req, err := http.NewRequest(c.method, "https://bound.allowed.test/", bytes.NewReader(make([]byte, c.body)))
				b.must(err)
				req.Header.Set("Authorization", authorization)
				resp, err := client.Do(req)
				if err != nil {
					return 0 // broken off under the body, before the answer was read
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				return resp.StatusCode
			}
			for i := range c.good {
				if status := send("Bearer " + placeholder); status != 200 {
					t.Errorf("%s: request %d: %d", c.name, i, status)
				}
				b.put(spec, defaultPolicy)
			}
			if status := send("Bearer " + placeholder); status != 429 && (status != 0 || !h2 && c.body < 1<<20) {
				t.Errorf("%s, h2 %v: past the budget: %d", c.name, h2, status)
			}
			if status := send("Bearer own"); status != 200 {
				t.Errorf("%s: without the secret: %d", c.name, status)
			}
			last := b.recorded(c.good + 2)[c.good]
			if last.Reason != "secret_budget_exhausted" || last.Verdict != "deny" || !strings.Contains(last.Detail, "API_TOKEN") {
				t.Errorf("%s: record %+v", c.name, last)
			}
		}
	}
}

// An answer is broken off, and looks it.
func TestBudgetOfAnswers(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.origin("bound.allowed.test", func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 1<<20)) })
	bounded := binding
	bounded.Budget = &inject.Budget{Bytes: 100_000}
	placeholder := b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{bounded}}, defaultPolicy)["API_TOKEN"]
	b.start()
	req, err := http.NewRequest("GET", "https://bound.allowed.test/", nil)
	b.must(err)
	req.Header.Set("Authorization", "Bearer "+placeholder)
	resp, err := b.client(false).Do(req)
	b.must(err)
	n, err := io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if err == nil || n > 200_000 {
		t.Errorf("%d bytes, %v", n, err)
	}
	if last := b.recorded(1)[0]; last.Reason != "secret_budget_exhausted" || last.Status != 200 {
		t.Errorf("record %+v", last)
	}
}
