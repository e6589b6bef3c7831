package doctor

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/md5" // what Bundler's index lists
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// Origin is the HTTPS server that the probes ask. To each runtime it speaks
// that one's protocol, and tells all of them the same answer.
type Origin struct {
	answer   string
	identity *identity
	listener net.Listener
	server   *http.Server
}

// Listen opens an origin on a loopback port; Serve answers. Its answer is a
// version number that nobody can guess.
func Listen() (*Origin, error) {
	id, err := newIdentity()
	if err != nil {
		return nil, fmt.Errorf("make certificate of the origin: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for probes: %w", err)
	}
	o := &Origin{answer: fmt.Sprintf("1.0.%d", id.nonce), identity: id, listener: l}
	o.server = &http.Server{Handler: o.routes(), TLSConfig: id.tls(), ReadHeaderTimeout: time.Minute}
	return o, nil
}

// Serve answers until Close.
func (o *Origin) Serve() error {
	if err := o.server.ServeTLS(o.listener, "", ""); err != http.ErrServerClosed {
		return fmt.Errorf("serve probes: %w", err)
	}
	return nil
}

// Close ends Serve and every connection.
func (o *Origin) Close() error { return o.server.Close() }

// Addr is the loopback address of the origin.
func (o *Origin) Addr() string { return o.listener.Addr().String() }

// CA returns the certificate, PEM, of the authority that signs the origin's.
// It has nothing to do with the edge's own.
func (o *Origin) CA() []byte { return o.identity.caPEM }

// Answer is what each probe that works prints.
func (o *Origin) Answer() string { return o.answer }

func (o *Origin) routes() http.Handler {
	mux := http.NewServeMux()
	text := func(path, body string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
	}
	text("/{$}", o.answer+"\n")
	mux.HandleFunc("/socket", o.socket)
	mux.HandleFunc("POST /doctor.Probe/Answer", o.grpc)

	// git's dumb protocol.
	text("/repository.git/info/refs", fmt.Sprintf("%040x\trefs/heads/%s\n", 1, o.answer))
	text("/repository.git/HEAD", "ref: refs/heads/"+o.answer+"\n")

	wheel := fmt.Sprintf("doctor_probe-%s-py3-none-any.whl", o.answer)
	mux.HandleFunc("/simple/doctor-probe/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!DOCTYPE html><html><body><a href="%[1]s">%[1]s</a></body></html>`, wheel)
	})
	text("/simple/doctor-probe/"+wheel, string(o.wheel()))

	version := map[string]any{"name": "doctor-probe", "version": o.answer, "dist": map[string]any{}}
	answerJSON(mux, "/npm/doctor-probe", map[string]any{
		"name": "doctor-probe", "dist-tags": map[string]any{"latest": o.answer}, "versions": map[string]any{o.answer: version},
	})
	mux.HandleFunc("/cargo/config.json", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"dl": "https://%[1]s/cargo/dl", "api": "https://%[1]s/cargo"}`, r.Host)
	})
	answerJSON(mux, "/cargo/api/v1/crates", map[string]any{
		"crates": []any{map[string]any{"name": "doctor-probe", "max_version": o.answer, "description": "probe"}},
		"meta":   map[string]any{"total": 1},
	})

	info := fmt.Sprintf("---\n%s |checksum:%064x\n", o.answer, 1)
	text("/gems/info/doctor-probe", info)
	text("/gems/versions", fmt.Sprintf("created_at: 2020-01-01T00:00:00Z\n---\ndoctor-probe %s %x\n", o.answer, md5.Sum([]byte(info))))

	packages := fmt.Sprintf("Package: doctor-probe\nVersion: %s\nArchitecture: all\nMaintainer: Nobody <nobody@example.com>\n"+
		"Filename: ./none.deb\nSize: 1\nSHA256: %064x\nDescription: probe\n", o.answer, 1)
	text("/apt/Packages", packages)
	text("/apt/Release", fmt.Sprintf("Date: %s\nSHA256:\n %x %d Packages\n",
		time.Now().UTC().Format(time.RFC1123), sha256.Sum256([]byte(packages)), len(packages)))
	return mux
}

func answerJSON(mux *http.ServeMux, path string, v any) {
	mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // a client that goes away is its own loss
	})
}

// socket answers the first message of a WebSocket.
func (o *Origin) socket(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // of browsers' origins, not of TLS
	if err != nil {
		return
	}
	defer func() { _ = c.CloseNow() }() // after a clean close it fails
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	if _, _, err := c.Read(ctx); err != nil {
		return
	}
	if err := c.Write(ctx, websocket.MessageText, []byte(o.answer)); err == nil {
		_ = c.Close(websocket.StatusNormalClosure, "")
	}
}

// grpc answers one unary call: a message is its length behind a zero byte.
func (o *Origin) grpc(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status")
	message := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(o.answer)))
	_, _ = w.Write(append(message, o.answer...))
	w.Header().Set("Grpc-Status", "0")
}

// wheel returns the smallest package that pip takes for one.
func (o *Origin) wheel() []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	dir := fmt.Sprintf("doctor_probe-%s.dist-info/", o.answer)
	for name, body := range map[string]string{
		"METADATA": "Metadata-Version: 2.1\nName: doctor-probe\nVersion: " + o.answer + "\n",
		"WHEEL":    "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"RECORD":   "",
	} {
		f, err := z.Create(dir + name)
		if err == nil {
			_, err = f.Write([]byte(body))
		}
		if err != nil {
			panic(err) // a buffer takes all
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}
