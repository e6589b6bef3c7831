package policy_test

import (
	"fmt"
	"log"

	"github.com/sallyport/sallyport/policy"
)

func Example() {
	doc, err := policy.Parse([]byte(`
version: v1
rules:
  - match: {host_glob: "*.internal.example.com"}
    action: {type: deny}
  - match: {host_glob: "*.example.com"}
    action: {type: allow}
`))
	if err != nil {
		log.Fatal(err)
	}
	p, err := policy.Compile(doc)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"API.Example.com.", "db.internal.example.com", "example.com", "127.1"} {
		h, _ := policy.CanonicalHost(name) // the zero Host of an error is denied
		d := p.Decide(h)
		fmt.Println(name, d.Action, d.Rule, d.Reason)
	}
	// Output:
	// API.Example.com. allow 1 allowed
	// db.internal.example.com deny 0 network_policy_denied
	// example.com deny -1 network_policy_denied
	// 127.1 deny -1 bad_host
}
