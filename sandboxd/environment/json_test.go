package environment_test

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/sallyport/sallyport/sandboxd/environment"
	"github.com/sallyport/sallyport/sandboxd/fault"
)

// Ledger: EV-1, EV-6, NP-11, NP-14
func TestDefinitionGolden(t *testing.T) {
	t.Parallel()
	d := create(t, whole)
	got, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/definition.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != string(want) {
		t.Errorf("encoded as\n%s", got)
	}
	var back environment.Definition
	if err := json.Unmarshal(want, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(d, back) {
		t.Errorf("read back as %+v, want %+v", back, d)
	}
}

func TestBodiesThatAreNoObjects(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", " ", "null", "[]", `"a"`, "1", "true", "{", `{"name":"a"`, `{"name":"a"} {}`, `{"name":"a",}`, `{name:"a"}`, "{\"name\":\"\xff\"}", `{"name":"\ud800"}`, "\ufeff{}"} {
		for _, read := range []func([]byte) (environment.Patch, error){environment.ParseCreate, environment.ParseUpdate} {
			if _, err := read([]byte(body)); fault.CodeOf(err) != fault.InvalidRequest {
				t.Errorf("%q: %v", body, err)
			}
		}
	}
}

// Whatever is accepted is saved in a form that reads back the same, and
// whatever isn't is the caller's fault.
func FuzzParse(f *testing.F) {
	f.Add(whole)
	for _, field := range fields {
		for _, value := range field.good {
			if len(value) < 200 {
				f.Add(`{"name":"a","provider":"runs","` + field.path + `":` + value + `}`)
			}
		}
	}
	f.Add(`{"expected_access":{"network_policy":{},"privileged":true}}`)
	f.Fuzz(func(t *testing.T, body string) {
		if _, err := environment.ParseUpdate([]byte(body)); err != nil {
			wantInvalid(t, err)
		}
		p, err := environment.ParseCreate([]byte(body))
		if err != nil {
			wantInvalid(t, err)
			return
		}
		d, err := environment.Create(p, rules())
		if err != nil {
			wantInvalid(t, err)
			return
		}
		if again := environment.Normalise(d); !reflect.DeepEqual(d, again) {
			t.Errorf("normalised twice: %+v and %+v", d, again)
		}
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		var back environment.Definition
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatalf("decode %s: %v", data, err)
		}
		if changes := environment.Diff(d, back); changes.Any() || environment.Fingerprint(d) != environment.Fingerprint(back) {
			t.Errorf("reads back with other %v: %s", changes, data)
		}
	})
}

func wantInvalid(t *testing.T, err error) {
	t.Helper()
	var e *fault.Error
	if !errors.As(err, &e) || e.Code != fault.InvalidRequest || e.Message == "" {
		t.Errorf("%v", err)
	}
}
