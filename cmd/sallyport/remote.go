package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sallyport/sallyport/sandboxd/apiclient"
)

// Variables that say which service the commands talk to.
const (
	apiVariable = "SALLYPORT_API"
	keyVariable = "SALLYPORT_KEY"
)

// What "up" leaves in its state directory for the other commands.
const (
	addressFile = "api.url"   // while it runs
	keyFile     = "admin.key" // for good
)

// endpoint is how a service is reached.
type endpoint struct{ API, Key string }

// remoteFlags say which service a command talks to.
type remoteFlags struct {
	api     string
	keyFile string
	state   *stateFlag
}

// addRemoteFlags gives cmd and its subcommands the flags of a service.
func addRemoteFlags(cmd *cobra.Command) *remoteFlags {
	f := &remoteFlags{state: addStateFlag(cmd)}
	flags := cmd.PersistentFlags()
	flags.StringVar(&f.api, "api", "", "`URL` of the service (default $"+apiVariable+", else the one of \"sallyport up\")")
	flags.StringVar(&f.keyFile, "key-file", "", "`FILE` that holds the API key (default $"+keyVariable+", else the one of \"sallyport up\")")
	_ = cmd.MarkPersistentFlagFilename("key-file")
	return f
}

// connectHelp ends the help of each group of commands on a service.
const connectHelp = `

The service is the one that "sallyport up" runs with the same --state. Another
one is named by --api or $` + apiVariable + `, together with a key in $` + keyVariable + ` or
--key-file.`

// endpoint returns how the service is reached, without asking it.
func (f *remoteFlags) endpoint() (endpoint, error) {
	a := endpoint{API: f.api, Key: os.Getenv(keyVariable)}
	if a.API == "" {
		a.API = os.Getenv(apiVariable)
	}
	if f.keyFile != "" {
		data, err := readPrivate(f.keyFile)
		if err != nil {
			return endpoint{}, err
		}
		a.Key = strings.TrimSpace(string(data))
	}
	if a.API == "" {
		local, err := f.local()
		if err != nil {
			return endpoint{}, err
		}
		a.API = local.API
		if a.Key == "" {
			a.Key = local.Key
		}
	}
	if a.Key == "" {
		return endpoint{}, usageErrorf("no API key for %s: set %s or --key-file", a.API, keyVariable)
	}
	return a, checkAPI(a.API)
}

// local returns the endpoint of "up". Its key goes to no other address.
func (f *remoteFlags) local() (endpoint, error) {
	dir, err := f.state.dir()
	if err != nil {
		return endpoint{}, err
	}
	address, err := readPrivate(filepath.Join(dir, addressFile))
	if errors.Is(err, fs.ErrNotExist) {
		return endpoint{}, usageErrorf("no service: \"sallyport up\" doesn't run with the state %s; start it, or name a service with --api or %s", dir, apiVariable)
	}
	if err != nil {
		return endpoint{}, err
	}
	key, err := readPrivate(filepath.Join(dir, keyFile))
	if err != nil {
		return endpoint{}, err
	}
	return endpoint{strings.TrimSpace(string(address)), strings.TrimSpace(string(key))}, nil
}

// readPrivate reads a file that holds a key, and refuses one that others can
// read.
func readPrivate(path string) ([]byte, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if st.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s holds a key, and others can read it: chmod 600 %s", path, path)
	}
	return io.ReadAll(io.LimitReader(f, 64<<10))
}

// checkAPI refuses to send a key where others can read it on the way.
func checkAPI(api string) error {
	u, err := url.Parse(api)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return usageErrorf("%q is not the URL of a service", api)
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Scheme == "http" && u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback()) {
		return usageErrorf("%s would get the API key unencrypted: use https", api)
	}
	return nil
}

// connect returns a client of the service.
func (f *remoteFlags) connect() (*apiclient.ClientWithResponses, error) {
	a, err := f.endpoint()
	if err != nil {
		return nil, err
	}
	return apiclient.New(strings.TrimSuffix(a.API, "/"), a.Key)
}

// maxAnswer bounds what is read of an answer: a page of environments at most.
const maxAnswer = 256 << 20

// answer reads what a call of the client returned into v, unless that is nil,
// and returns it as it came.
func answer(res *http.Response, err error, v any) (json.RawMessage, error) {
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	if v == nil {
		return data, nil
	}
	if err := json.Unmarshal(data, v); err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	return data, nil
}

// detail is a text in the details of the error, "" if there is none.
func detail(f *apiclient.Failure, name string) string {
	text, _ := or(f.Details)[name].(string)
	return text
}

// printAnswer writes an answer of the service as indented JSON.
func printAnswer(w io.Writer, data json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(data), "", "  "); err != nil {
		return fmt.Errorf("print answer: %w", err)
	}
	b.WriteByte('\n')
	_, err := w.Write(b.Bytes())
	return err
}
