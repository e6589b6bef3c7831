package names_test

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport/edge/names"
	"github.com/sallyport/sallyport/policy"
)

func host(t testing.TB, s string) policy.Host {
	t.Helper()
	h, err := policy.CanonicalHost(s)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func address(t testing.TB, p *names.Pool, boundary, name string) netip.Addr {
	t.Helper()
	a, err := p.Address(boundary, host(t, name))
	if err != nil {
		t.Fatal(err)
	}
	if !names.Synthetic(a) {
		t.Fatalf("%v is not synthetic", a)
	}
	return a
}

func TestAddressesAreStableAndTheBoundarysOwn(t *testing.T) {
	t.Parallel()
	var p names.Pool
	a, b := address(t, &p, "one", "a.test"), address(t, &p, "one", "b.test")
	if a == b || a != address(t, &p, "one", "a.test") {
		t.Errorf("a.test is %v, b.test is %v", a, b)
	}
	if h, ok := p.Lookup("one", a); !ok || h != host(t, "a.test") {
		t.Errorf("%v is %v, %v", a, h, ok)
	}
	if h, ok := p.Lookup("one", netip.AddrFrom16(a.As16())); !ok || h != host(t, "a.test") {
		t.Errorf("the mapped form of %v is %v, %v", a, h, ok)
	}
	if h, ok := p.Lookup("two", a); ok {
		t.Errorf("another boundary sees %v", h)
	}
	other := address(t, &p, "two", "c.test")
	if h, _ := p.Lookup("two", other); h != host(t, "c.test") {
		t.Errorf("two: %v", h)
	}
	p.Forget("one")
	if h, ok := p.Lookup("one", a); ok {
		t.Errorf("after Forget: %v", h)
	}
	for _, s := range []string{"8.8.8.8", "198.17.255.255", "198.20.0.0", "::1", "198.18.0.0", "198.19.255.255"} {
		if h, ok := p.Lookup("two", netip.MustParseAddr(s)); ok {
			t.Errorf("%s is %v", s, h)
		}
	}
}

func TestAddressesInUseAreNeverPointedElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p names.Pool
		const bound = 4096
		first := map[string]netip.Addr{}
		for i := range bound {
			name := fmt.Sprintf("n%d.test", i)
			first[name] = address(t, &p, "b", name)
		}
		if _, err := p.Address("b", host(t, "more.test")); !errors.Is(err, names.ErrExhausted) {
			t.Fatalf("a name beyond the bound: %v", err)
		}
		if _, err := p.Address("other", host(t, "more.test")); err != nil {
			t.Errorf("another boundary suffers: %v", err)
		}
		// n0 stays in use by connections alone, the rest rests.
		for range 10 {
			time.Sleep(61 * time.Second)
			if h, ok := p.Lookup("b", first["n0.test"]); !ok || h.String() != "n0.test" {
				t.Fatalf("n0.test has become %v", h)
			}
		}
		given := map[netip.Addr]bool{}
		for i := range bound - 1 {
			a := address(t, &p, "b", fmt.Sprintf("m%d.test", i))
			if given[a] {
				t.Fatalf("%v was given twice", a)
			}
			given[a] = true
		}
		for name, a := range first {
			h, ok := p.Lookup("b", a)
			if name == "n0.test" && h.String() != name || name != "n0.test" && ok {
				t.Fatalf("%v, which was %s, is %v", a, name, h)
			}
			if given[a] {
				t.Fatalf("%v, which was %s, was given again at once", a, name)
			}
		}
	})
}

func TestPoolWrapsRound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p names.Pool
		kept := address(t, &p, "b", "kept.test")
		for i := range 140_000 { // more than the block has
			if i%4000 == 0 {
				time.Sleep(11 * time.Minute)
				if h, ok := p.Lookup("b", kept); !ok || h.String() != "kept.test" {
					t.Fatalf("after %d names: %v", i, h)
				}
			}
			if a := address(t, &p, "b", fmt.Sprintf("n%d.test", i)); a == kept {
				t.Fatalf("name %d got the address of kept.test", i)
			}
		}
	})
}

func TestPoolUnderConcurrency(t *testing.T) {
	t.Parallel()
	var p names.Pool
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				name := fmt.Sprintf("n%d.test", i)
				a, err := p.Address(fmt.Sprint(g%2), host(t, name))
				if err != nil {
					t.Error(err)
				}
				if h, ok := p.Lookup(fmt.Sprint(g%2), a); !ok || h.String() != name {
					t.Errorf("%v is %v, not %s", a, h, name)
				}
			}
		})
	}
	wg.Wait()
}
