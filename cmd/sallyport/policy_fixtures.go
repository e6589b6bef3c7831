package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/sallyport/sallyport/edge/strict"
	"github.com/sallyport/sallyport/policy"
)

// fixtures is a file of verdicts that a policy must have.
type fixtures struct {
	Cases []fixture `json:"cases"`
}

// fixture is one host and what is expected of it.
type fixture struct {
	Host    string `json:"host"`
	Verdict string `json:"verdict"` // allow, deny
	Glob    string `json:"glob"`    // of the deciding rule; empty leaves it open
	Why     string `json:"why"`     // for readers
}

// fixtureResult is one line of "policy test --fixtures -o json".
type fixtureResult struct {
	policyVerdict
	Want string `json:"want"`
	Why  string `json:"why,omitempty"`
	Pass bool   `json:"pass"`
}

func readFixtures(file string) ([]fixture, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read fixtures: %w", err)
	}
	var f fixtures
	if err := strict.YAML(data, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(f.Cases) == 0 {
		return nil, fmt.Errorf("%s: expected cases, found none", file)
	}
	for i, c := range f.Cases {
		if c.Verdict != policy.Allow.String() && c.Verdict != policy.Deny.String() {
			return nil, fmt.Errorf(`%s: cases[%d].verdict: expected "allow" or "deny", found %q`, file, i, c.Verdict)
		}
	}
	return f.Cases, nil
}

// runFixtures judges every case and counts those that failed.
func runFixtures(p *policy.Policy, cases []fixture) (results []fixtureResult, failed int) {
	for _, c := range cases {
		v, _ := judge(p, c.Host)
		r := fixtureResult{policyVerdict: v, Want: c.Verdict, Why: c.Why, Pass: v.Verdict == c.Verdict}
		if c.Glob != "" {
			r.Want += " by " + c.Glob
			r.Pass = r.Pass && v.Glob == c.Glob
		}
		if !r.Pass {
			failed++
		}
		results = append(results, r)
	}
	return results, failed
}

func printFixtures(w io.Writer, format string, results []fixtureResult, failed int) error {
	switch format {
	case string(outputJSON):
		return printJSON(w, results)
	case "junit":
		return printJUnit(w, results, failed)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range results {
		if !r.Pass {
			fmt.Fprintf(t, "FAIL\t%s\twant %s\tis %s, %s\t%s\n", r.Input, r.Want, r.Verdict, decidedBy(r.policyVerdict), r.Why)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d of %d as expected\n", len(results)-failed, len(results))
	return err
}

type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitFailure `xml:"failure,omitempty"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
	}
)

// printJUnit writes the results as most CI systems read them.
func printJUnit(w io.Writer, results []fixtureResult, failed int) error {
	const name = "network policy"
	suite := junitSuite{Name: name, Tests: len(results), Failures: failed}
	for _, r := range results {
		c := junitCase{Class: name, Name: r.Input}
		if !r.Pass {
			c.Failure = &junitFailure{fmt.Sprintf("want %s, is %s, %s", r.Want, r.Verdict, decidedBy(r.policyVerdict))}
		}
		suite.Cases = append(suite.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
