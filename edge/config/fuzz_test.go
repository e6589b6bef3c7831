package config_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/edge/config"
	"github.com/sallyport/sallyport/edge/strict"
	"github.com/sallyport/sallyport/inject"
)

// A configuration that is accepted can be served as a whole, and means the same
// after it was written as JSON.
//
// Case: B20
func FuzzDocument(f *testing.F) {
	for _, s := range []string{
		full, "", "state: s", "state: s\nlisten: {control: c}\n", "state: s\nlisten: {proxy: '127.0.0.1:0'}\nboundaries: [{id: a}]",
		"state: s\nlisten: {control: c}\nboundaries: [{id: a, network_policy: {version: v1, rules: []}}, {id: a}]",
		"state: s\nlisten: {control: c}\nupstream: {denied_ports: [], resolve: {'[::1]:443': '127.0.0.1:1'}}\ntimeouts: {idle: 1h}",
		`{"state": "s", "listen": {"control": "c"}, "upstream": {"allow_cidrs": ["::/0"]}}`, "a: &a [*a]", "state: s\nstate: s", "? x\n: y",
	} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		var d config.Document
		if strict.YAML(text, &d) != nil {
			return
		}
		c, err := d.Check(dir)
		if err != nil {
			return
		}
		if c.State == "" || c.Audit == "" || c.Listen == (config.Listen{}) {
			t.Errorf("accepted with nothing to serve: %+v", c)
		}
		for _, b := range c.Boundaries {
			if _, err := boundary.Compile(b.Spec, inject.Key{}); err != nil {
				t.Errorf("boundary %s can't be compiled: %v", b.ID, err)
			}
		}
		written, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var again config.Document
		if err := strict.YAML(written, &again); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		c2, err := again.Check(dir)
		if err != nil || !reflect.DeepEqual(c, c2) {
			t.Errorf("%s: %+v, error %v; was %+v", written, c2, err, c)
		}
	})
}
