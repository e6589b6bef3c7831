package main

import "testing"

func TestDefaultState(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		uid  int
		env  map[string]string
		want string // "" means an error
	}{
		{"root", 0, map[string]string{"XDG_STATE_HOME": "/x", "HOME": "/root"}, "/var/lib/sallyport"},
		{"XDG", 1000, map[string]string{"XDG_STATE_HOME": "/x/state", "HOME": "/home/u"}, "/x/state/sallyport"},
		{"home", 1000, map[string]string{"HOME": "/home/u"}, "/home/u/.local/state/sallyport"},
		{"relative XDG", 1000, map[string]string{"XDG_STATE_HOME": "state", "HOME": "/home/u"}, "/home/u/.local/state/sallyport"},
		{"nothing", 1000, nil, ""},
		{"relative home", 1000, map[string]string{"HOME": "u"}, ""},
	}
	for _, c := range cases {
		got, err := defaultState(c.uid, func(name string) string { return c.env[name] })
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: got %q, %v; want %q", c.name, got, err, c.want)
		}
	}
}
