package strict_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sallyport/sallyport/sandboxd/fault"
	"github.com/sallyport/sallyport/sandboxd/strict"
)

type body struct {
	Name  strict.Field[string] `json:"name,omitzero"`
	Count int64                `json:"count,omitzero"`
	Items strict.Field[[]item] `json:"items,omitzero"`
	Named map[string]bool      `json:"named,omitzero"`
}

type item struct {
	At *int64 `json:"at,omitzero"`
}

// Ledger: AP-1, AP-3
func TestDecodeSaysWhere(t *testing.T) {
	t.Parallel()
	cases := []struct {
		data  string
		param string
		says  string
	}{
		{`{"name":1}`, "name", "expected a string, found a number"},
		{`{"name":[]}`, "name", "expected a string, found a list"},
		{`{"count":"1"}`, "count", "expected a whole number, found a string"},
		{`{"count":1.5}`, "count", "expected a whole number, found the number 1.5"},
		{`{"count":100000000000000000000000000000000}`, "count", "expected a whole number, found the number 100000000000000000000000…"},
		{`{"count":null}`, "count", "expected a whole number, found null"},
		{`{"count":true}`, "count", "expected a whole number, found true"},
		{`{"items":{}}`, "items", "expected a list, found an object"},
		{`{"items":[{"at":1},{"at":{}}]}`, "items[1].at", "expected a whole number, found an object"},
		{`{"items":[{"at":null}]}`, "items[0].at", "expected a whole number, found null"},
		{`{"items":[null]}`, "items[0]", "expected an object, found null"},
		{`{"items":[{"to":1}]}`, "items[0].to", "is not a known field"},
		{`{"named":{"a.b":1}}`, `named["a.b"]`, "expected true or false, found a number"},
		{`{"named":{"a":true,"a":true}}`, "named.a", "is there twice"},
		{`{"NAME":"x"}`, "NAME", "is not a known field"},
		{`{"a/b~c":1}`, `["a/b~c"]`, "is not a known field"},
		{"{\"a\\nb\":1}", `["a\nb"]`, "is not a known field"},
		{`{} {}`, "", "is not valid JSON at byte 3: invalid character '{' after top-level value"},
	}
	for _, c := range cases {
		var b body
		err := strict.Decode([]byte(c.data), &b)
		var e *fault.Error
		if !errors.As(err, &e) || e.Code != fault.InvalidRequest || e.Param != c.param || e.Message != c.says {
			t.Errorf("%s: %q, want %s: %s", c.data, err, c.param, c.says)
		}
	}
}

func TestFieldTellsThreeStatesApart(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]strict.Field[string]{
		`{}`: {}, `{"name":null}`: strict.Null[string](), `{"name":""}`: strict.Value(""), `{"name":"x"}`: strict.Value("x"),
	} {
		var b body
		if err := strict.Decode([]byte(data), &b); err != nil || b.Name != want {
			t.Errorf("%s: %+v, %v", data, b.Name, err)
		}
		back, err := json.Marshal(struct {
			Name strict.Field[string] `json:"name,omitzero"`
		}{want})
		if err != nil || string(back) != data {
			t.Errorf("%s encodes as %s, %v", data, back, err)
		}
	}
	f := strict.Value("x")
	if v, ok := f.Get(); v != "x" || !ok || f.IsNull() || f.IsZero() || f.Or("y") != "x" || strict.Null[string]().Or("y") != "y" || !strict.Null[string]().IsNull() {
		t.Error("accessors")
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	for pointer, want := range map[jsontext.Pointer]string{
		"": "", "/a": "a", "/a/0/b": "a[0].b", "/a~1b": `["a/b"]`, "/": `[""]`, "/env_vars/A B": `env_vars["A B"]`,
	} {
		if got := strict.Path(pointer); got != want {
			t.Errorf("%q is %q, want %q", pointer, got, want)
		}
	}
}
