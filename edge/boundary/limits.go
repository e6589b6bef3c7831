package boundary

import "fmt"

// Limits bound what one sandbox may take of the edge. Zero leaves a limit to
// the edge's own default, which may be none.
type Limits struct {
	// RequestsPerSecond; a second's worth may come at once.
	RequestsPerSecond int `json:"requests_per_second,omitempty"`
	// UploadBytesPerSecond and DownloadBytesPerSecond slow bodies and tunnels
	// down; nothing is refused for them.
	UploadBytesPerSecond   int `json:"upload_bytes_per_second,omitempty"`
	DownloadBytesPerSecond int `json:"download_bytes_per_second,omitempty"`
	// Tunnels is how many may be open at a time: accepted CONNECTs and
	// connections of transparent interception.
	Tunnels int `json:"tunnels,omitempty"`
	// DNSQueriesPerSecond; a second's worth may come at once.
	DNSQueriesPerSecond int `json:"dns_queries_per_second,omitempty"`
}

// Check says which limit can't be meant. The error is an *[Error] whose path is
// below the limits.
func (l Limits) Check() error {
	for _, one := range []struct {
		name  string
		value int
	}{
		{"requests_per_second", l.RequestsPerSecond},
		{"upload_bytes_per_second", l.UploadBytesPerSecond},
		{"download_bytes_per_second", l.DownloadBytesPerSecond},
		{"tunnels", l.Tunnels},
		{"dns_queries_per_second", l.DNSQueriesPerSecond},
	} {
		if one.value < 0 {
			return &Error{one.name, fmt.Sprintf("expected a number from 1 on, found %d", one.value)}
		}
	}
	return nil
}

// Or returns l with what it leaves open filled in from defaults.
func (l Limits) Or(defaults Limits) Limits {
	for _, one := range []struct{ into, from *int }{
		{&l.RequestsPerSecond, &defaults.RequestsPerSecond},
		{&l.UploadBytesPerSecond, &defaults.UploadBytesPerSecond},
		{&l.DownloadBytesPerSecond, &defaults.DownloadBytesPerSecond},
		{&l.Tunnels, &defaults.Tunnels},
		{&l.DNSQueriesPerSecond, &defaults.DNSQueriesPerSecond},
	} {
		if *one.into == 0 {
			*one.into = *one.from
		}
	}
	return l
}
