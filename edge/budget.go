package edge

import (
	"context"
	"errors"

	"golang.org/x/time/rate"

	"github.com/sallyport/sallyport/inject"
)

// pay counts n bytes against the budgets of the request's secrets, and waits
// until so many may have passed. Once a budget is used up the crossing ends.
func (c *crossing) pay(ctx context.Context, limit *rate.Limiter, n int) error {
	if err := c.injection.Spend(n); err != nil {
		c.cancel(err)
		return err
	}
	return throttle(ctx, limit, n)
}

// overspent returns the *[inject.BudgetError] for which the crossing has ended,
// or nil.
func (c *crossing) overspent() error {
	var spent *inject.BudgetError
	if errors.As(c.cause(), &spent) {
		return spent
	}
	return nil
}
