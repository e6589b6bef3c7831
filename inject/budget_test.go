package inject_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sallyport/sallyport/inject"
)

func TestBudgetOfMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := good()
		b.Budget = &inject.Budget{Minutes: 10}
		set, from := compile(t, b), holding(t, map[string]string{"token": plain})
		send := func() (inject.Injection, error) {
			r := request("https://api.example.com/", "Authorization", "Bearer "+set.Env()["API_TOKEN"])
			return set.Apply(t.Context(), r, https(t, "api.example.com"), from)
		}
		time.Sleep(10*time.Minute - time.Second)
		under, err := send()
		if err != nil || under.Spend(1) != nil {
			t.Fatalf("before the time: %v", err)
		}
		time.Sleep(time.Second)
		var spent *inject.BudgetError
		if _, err := send(); !errors.As(err, &spent) || spent.Spent != "minutes" || !errors.As(under.Spend(1), &spent) {
			t.Errorf("after the time: %v", err)
		}
	})
}

func TestBudgetsThatCantBeMeant(t *testing.T) {
	t.Parallel()
	for text, path := range map[string]string{
		`{"uses":-1}`: "uses", `{"uses":"1"}`: "uses", `{"bytes":-1}`: "bytes", `{"use":1}`: "use",
		`{"methods":{"GET":0}}`: "methods", `{"methods":{"G T":1}}`: "methods", `{"methods":[1]}`: "methods",
	} {
		_, err := inject.ParseBindings([]byte(`[{"env":"A","host":"a.example.com","secret":"store:a","budget":` + text + `}]`))
		var bad *inject.BindingError
		if !errors.As(err, &bad) || bad.Path != "bindings[0].budget."+path {
			t.Errorf("%s: %v", text, err)
		}
	}
}
