package strict_test

import (
	"errors"
	"testing"

	"github.com/sallyport/sallyport/edge/strict"
)

type target struct {
	Name   string             `json:"name"`
	Port   uint16             `json:"port"`
	Listen struct{ A string } `json:"listen"`
	Items  []struct {
		Host string `json:"host"`
	} `json:"items"`
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, in, want string
	}{
		{"unknown key", `{"nam": "x"}`, "nam: unknown key"},
		{"unknown nested key", `{"items": [{"host": "a"}, {"hst": "b"}]}`, "items[1].hst: unknown key"},
		{"another case", `{"Name": "x"}`, "Name: unknown key"},
		{"wrong type", `{"name": 3}`, "name: expected a string, found number"},
		{"wrong nested type", `{"listen": []}`, "listen: expected an object, found array"},
		{"out of range", `{"port": 65536}`, "port: expected a number (uint16), found number 65536"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for form, decode := range map[string]func([]byte, any) error{"json": strict.JSON, "yaml": strict.YAML} {
				err := decode([]byte(c.in), &target{})
				var e *strict.Error
				if !errors.As(err, &e) || err.Error() != c.want {
					t.Errorf("%s: error %v, want %s", form, err, c.want)
				}
			}
		})
	}
}

func TestRefusesWhatLibrariesIgnore(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		decode func([]byte, any) error
		in     string
	}{
		{"duplicate key in JSON", strict.JSON, `{"name": "a", "name": "b"}`},
		{"duplicate key in YAML", strict.YAML, "name: a\nname: b\n"},
		{"second YAML document", strict.YAML, "name: a\n---\nname: b\n"},
		{"text after the JSON", strict.JSON, `{"name": "a"} x`},
		{"second JSON value", strict.JSON, `{"name": "a"}{"name": "b"}`},
		{"broken YAML", strict.YAML, "name: [a"},
		{"empty JSON", strict.JSON, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if err := c.decode([]byte(c.in), &target{}); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func TestYAML(t *testing.T) {
	t.Parallel()
	var got target
	if err := strict.YAML([]byte("name: a\nport: 443\nitems:\n  - host: b\n"), &got); err != nil {
		t.Fatal(err)
	}
	if got.Name != "a" || got.Port != 443 || got.Items[0].Host != "b" {
		t.Errorf("decoded %+v", got)
	}
}

func FuzzYAML(f *testing.F) {
	for _, seed := range []string{"name: a", `{"name":"a"}`, "a: &x [*x]", "- 1", "name: a\n---\n", "<<: {name: b}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got target
		if err := strict.YAML(data, &got); err != nil && err.Error() == "" {
			t.Error("error without text")
		}
	})
}
