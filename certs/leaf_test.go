package certs_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport/certs"
)

func leaf(t testing.TB, a *certs.Authority, host string) *x509.Certificate {
	t.Helper()
	c, err := a.Leaf(host)
	if err != nil {
		t.Fatal(err)
	}
	return c.Leaf
}

func longName() string {
	return strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + "." + strings.Repeat("c", 63) + "." + strings.Repeat("d", 57) + ".com"
}

// Ledger: ED-34
// Case: A25
func TestLeaf(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	roots := x509.NewCertPool()
	roots.AddCert(a.Certificate())
	hosts := []string{"api.example.com", "localhost", "192.0.2.7", "2001:db8::7", "_dmarc.example.com", "a_b.example.com",
		"xn--bcher-kva.example", "r3---sn-x.example.com", "3com.test", strings.Repeat("a", 61) + ".com", longName()}
	for _, host := range hosts {
		c := leaf(t, a, host)
		if _, err := c.Verify(x509.VerifyOptions{DNSName: host, Roots: roots}); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		if len(c.AuthorityKeyId) != 20 || c.KeyUsage != x509.KeyUsageDigitalSignature || c.IsCA {
			t.Errorf("%s: AKI %x, key usage %b, CA %v", host, c.AuthorityKeyId, c.KeyUsage, c.IsCA)
		}
		if len(c.ExtKeyUsage) != 1 || c.ExtKeyUsage[0] != x509.ExtKeyUsageServerAuth || len(c.DNSNames)+len(c.IPAddresses) != 1 {
			t.Errorf("%s: EKU %v, names %v %v", host, c.ExtKeyUsage, c.DNSNames, c.IPAddresses)
		}
		if life := c.NotAfter.Sub(c.NotBefore); life > 7*24*time.Hour || !c.NotBefore.Before(time.Now().Add(-30*time.Minute)) {
			t.Errorf("%s: valid for %v from %v", host, life, c.NotBefore)
		}
	}
}

// Case: A40
func TestHostileNames(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	hostile := []string{"", ".", "a..test", ".a.test", "a.test.", "-a.test", "a.-b.test", "*", "*.test", "A.test", "ü.test", "\xff.test",
		"a\x00.test", "a test", "a/b", "a:443", "[::1]", "fe80::1%eth0", "127.1", "0x7f.1", "1.2.3.4.5", "a@b.test", strings.Repeat("a", 64) + ".test",
		strings.Repeat("a.", 127) + "test", strings.Repeat("a", 255), strings.Repeat("a", 70000)}
	for _, host := range hostile {
		_, err := a.Leaf(host)
		var bad *certs.HostError
		if !errors.As(err, &bad) || bad.Host != host || len(err.Error()) > 1500 {
			t.Errorf("%.40q: %.200v", host, err)
		}
	}
	if s := a.Stats(); s.Minted != 0 || s.Cached != 0 {
		t.Errorf("hostile names left %+v", s)
	}
	leaf(t, a, "normal.test")
}

// Case: A40
func TestCacheIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("5,000 signatures are not short")
	}
	t.Parallel()
	a := newAuthority(t)
	for i := range 5000 {
		leaf(t, a, fmt.Sprintf("n%d.test", i))
	}
	if s := a.Stats(); s.Cached != 4096 || s.Minted != 5000 {
		t.Errorf("%+v", s)
	}
}

// Ledger: ED-34
func TestOneMintForManyGoroutines(t *testing.T) {
	t.Parallel()
	a := newAuthority(t)
	var got [100]*tls.Certificate
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			<-start
			c, err := a.Leaf("api.example.com")
			if err != nil {
				t.Error(err)
			}
			got[i] = c
		})
	}
	close(start)
	wg.Wait()
	for _, c := range got {
		if c != got[0] {
			t.Fatal("two leaves for one host")
		}
	}
	if s := a.Stats(); s.Minted != 1 {
		t.Errorf("%d mints", s.Minted)
	}
}

// Case: A26
func TestSerialsAreUniqueOverRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	seen := map[string]bool{}
	for range 3 {
		a, err := certs.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 50 {
			n := leaf(t, a, fmt.Sprintf("n%d.test", i)).SerialNumber
			if n.Sign() <= 0 || n.BitLen() > 159 || n.BitLen() < 64 || seen[n.String()] {
				t.Fatalf("serial %v: seen %v", n, seen[n.String()])
			}
			seen[n.String()] = true
		}
	}
}

// Ledger: ED-34
func TestLeavesAreRenewedAndNeverOutliveTheCA(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		end := a.Certificate().NotAfter
		last := leaf(t, a, "a.test")
		step := 5 * time.Hour
		for time.Until(end) > 0 {
			c := leaf(t, a, "a.test")
			if now := time.Now(); !now.Before(c.NotAfter) || c.NotAfter.After(end) {
				t.Fatalf("at %v: leaf until %v, CA until %v", now, c.NotAfter, end)
			}
			if c != last && time.Until(last.NotAfter) > 2*24*time.Hour && last.NotAfter.Before(end) {
				t.Fatalf("renewed at %v a leaf valid until %v", time.Now(), last.NotAfter)
			}
			last = c
			time.Sleep(step)
			if left := time.Until(end); left > 30*24*time.Hour {
				time.Sleep(left / 2)
			}
		}
		if c, err := a.Leaf("a.test"); err == nil || !strings.Contains(err.Error(), "the CA expired") {
			t.Errorf("after the end of the CA: %v, %v", c != nil, err)
		}
	})
}

func FuzzLeaf(f *testing.F) {
	for _, host := range []string{"a.test", "", "::1", "127.1", "_a.test", "-a", "a..b", "*", "\x00", "A"} {
		f.Add(host)
	}
	a := newAuthority(f)
	roots := x509.NewCertPool()
	roots.AddCert(a.Certificate())
	f.Fuzz(func(t *testing.T, host string) {
		c, err := a.Leaf(host)
		if err != nil {
			var bad *certs.HostError
			if !errors.As(err, &bad) {
				t.Fatalf("%q: untyped %v", host, err)
			}
			return
		}
		// A client that asked for host must be able to verify what it gets.
		if _, err := c.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots}); err != nil {
			t.Fatalf("%q: %v", host, err)
		}
	})
}

func BenchmarkLeafMint(b *testing.B) {
	a := newAuthority(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		leaf(b, a, fmt.Sprintf("n%d.test", i))
	}
}

func BenchmarkLeafCached(b *testing.B) {
	a := newAuthority(b)
	leaf(b, a, "a.test")
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := a.Leaf("a.test"); err != nil {
				b.Error(err)
			}
		}
	})
}
