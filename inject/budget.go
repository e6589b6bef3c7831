package inject

import (
	"fmt"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/sallyport/sallyport/inject/secret"
)

// Budget bounds what a sandbox may do with a secret, from the opening of its
// boundary to its closing; replacing the boundary gives nothing back, a new
// edge process does. What is zero or empty is not bounded. Bindings of one
// secret count together, each against its own bounds.
type Budget struct {
	Uses    int            `json:"uses,omitempty"`    // requests
	Bytes   int            `json:"bytes,omitempty"`   // of bodies and messages, both ways
	Minutes int            `json:"minutes,omitempty"` // since the boundary opened
	Methods map[string]int `json:"methods,omitempty"` // requests by method; others get none
}

// UnmarshalJSON decodes strictly, as Binding does.
func (b *Budget) UnmarshalJSON(data []byte) error {
	*b = Budget{}
	return decodeObject(data, map[string]any{
		"uses": &b.Uses, "bytes": &b.Bytes, "minutes": &b.Minutes, "methods": &b.Methods,
	})
}

func (b *Budget) check() *BindingError {
	if b == nil {
		return nil
	}
	for key, n := range map[string]int{"uses": b.Uses, "bytes": b.Bytes, "minutes": b.Minutes} {
		if n < 0 {
			return &BindingError{"budget." + key, "want a number from 1 on"}
		}
	}
	for method, n := range b.Methods {
		if n < 1 || !httpguts.ValidHeaderFieldName(method) {
			return &BindingError{"budget.methods", "want HTTP methods with numbers from 1 on"}
		}
	}
	return nil
}

// BudgetError: a sandbox has used up what it may do with a secret.
type BudgetError struct {
	Env   string // of the binding
	Spent string // what there is no more of: "uses", "bytes", "minutes", "method POST"
}

func (e *BudgetError) Error() string { return "budget of " + e.Env + " is used up: " + e.Spent }

// spending is what one opening of a boundary has done with its secrets.
type spending struct {
	since time.Time

	mu sync.Mutex // guards what follows
	of map[secret.Ref]*account
}

// account is what has been done with one secret.
type account struct {
	uses, bytes int
	methods     map[string]int
}

func newSpending() *spending {
	return &spending{since: time.Now(), of: map[secret.Ref]*account{}}
}

// Continue makes s count on from before, which it replaces. Call it before s is
// in use.
func (s *Set) Continue(before *Set) {
	if s != nil && before != nil {
		s.spent = before.spent
	}
}

// charge is a binding whose bytes count.
type charge struct {
	b     *bound
	spent *spending
}

// spend takes one use of b's secret, or says what there is no more of.
func (s *Set) spend(b *bound, method string, into *Injection) error {
	limits := b.options.Budget
	if limits == nil {
		return nil
	}
	p := s.spent
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.of[b.secret.ref]
	if a == nil {
		a = &account{methods: map[string]int{}}
		p.of[b.secret.ref] = a
	}
	short := ""
	switch {
	case limits.Minutes > 0 && time.Since(p.since) >= time.Duration(limits.Minutes)*time.Minute:
		short = "minutes"
	case limits.Uses > 0 && a.uses >= limits.Uses:
		short = "uses"
	case limits.Bytes > 0 && a.bytes >= limits.Bytes:
		short = "bytes"
	case len(limits.Methods) > 0 && a.methods[method] >= limits.Methods[method]:
		short = fmt.Sprintf("method %.20q", method)
	}
	if short != "" {
		return &BudgetError{b.env, short}
	}
	a.uses++
	if len(limits.Methods) > 0 {
		a.methods[method]++
	}
	into.charges = append(into.charges, charge{b, p})
	return nil
}

// Spend counts n bytes that pass, either way, against the budgets of the
// request's secrets. An error is a *[BudgetError]: no more may pass.
func (i Injection) Spend(n int) error {
	for _, c := range i.charges {
		if err := c.take(n); err != nil {
			return err
		}
	}
	return nil
}

func (c charge) take(n int) error {
	limits := c.b.options.Budget
	c.spent.mu.Lock()
	defer c.spent.mu.Unlock()
	a := c.spent.of[c.b.secret.ref]
	a.bytes += n
	switch {
	case limits.Bytes > 0 && a.bytes > limits.Bytes:
		return &BudgetError{c.b.env, "bytes"}
	case limits.Minutes > 0 && time.Since(c.spent.since) >= time.Duration(limits.Minutes)*time.Minute:
		return &BudgetError{c.b.env, "minutes"}
	}
	return nil
}
