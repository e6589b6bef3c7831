package edge_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sallyport/sallyport/edge/boundary"
	"github.com/sallyport/sallyport/inject"
)

const echoService = "/agree.Echo/"

// echoServer is a service with one method of each kind. What it does is told
// by the message.
type echoServer struct {
	ended chan error // why the context of a call that waits ended
}

func (s *echoServer) unary(ctx context.Context, text string) (*wrapperspb.StringValue, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	_ = grpc.SetTrailer(ctx, metadata.Pairs("x-trailer", "after"))
	switch text {
	case "wait":
		<-ctx.Done()
		s.ended <- ctx.Err()
		return nil, status.FromContextError(ctx.Err()).Err()
	case "fail":
		return nil, status.Error(codes.NotFound, "nothing: 100% absent")
	}
	return wrapperspb.String(text + strings.Join(md["authorization"], ",")), nil
}

// stream answers each message at once until the client has sent its last.
func (s *echoServer) stream(stream grpc.ServerStream) error {
	for {
		var m wrapperspb.StringValue
		err := stream.RecvMsg(&m)
		if errors.Is(err, io.EOF) {
			return stream.SendMsg(wrapperspb.String("end"))
		}
		if err != nil {
			s.ended <- err
			return err
		}
		if err := stream.SendMsg(&m); err != nil {
			return err
		}
	}
}

func (s *echoServer) desc() *grpc.ServiceDesc {
	handler := func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var m wrapperspb.StringValue
		if err := decode(&m); err != nil {
			return nil, err
		}
		return s.unary(ctx, m.Value)
	}
	return &grpc.ServiceDesc{
		ServiceName: strings.Trim(echoService, "/"), HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Unary", Handler: handler}},
		Streams: []grpc.StreamDesc{
			{StreamName: "Both", ServerStreams: true, ClientStreams: true, Handler: func(_ any, st grpc.ServerStream) error { return s.stream(st) }},
			{StreamName: "Up", ClientStreams: true, Handler: func(_ any, st grpc.ServerStream) error {
				n := 0
				for {
					var m wrapperspb.StringValue
					if err := st.RecvMsg(&m); errors.Is(err, io.EOF) {
						return st.SendMsg(wrapperspb.String(fmt.Sprint(n)))
					} else if err != nil {
						return err
					}
					n += len(m.Value)
				}
			}},
			{StreamName: "Down", ServerStreams: true, Handler: func(_ any, st grpc.ServerStream) error {
				var m wrapperspb.StringValue
				if err := st.RecvMsg(&m); err != nil {
					return err
				}
				for i := range 100 {
					if err := st.SendMsg(wrapperspb.String(fmt.Sprint(m.Value, i))); err != nil {
						return err
					}
				}
				return nil
			}},
		},
	}
}

// grpcBed serves the service as bound.allowed.test and returns a client that
// goes through the proxy, and its placeholder.
func grpcBed(t *testing.T) (*bed, *echoServer, *grpc.ClientConn, string) {
	b := newBed(t)
	leaf, err := b.origins.Leaf("bound.allowed.test")
	b.must(err)
	ln := b.listen()
	b.pin("bound.allowed.test", 443, ln)
	server := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(leaf)))
	service := &echoServer{ended: make(chan error, 8)}
	server.RegisterService(service.desc(), service)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(ln) })
	t.Cleanup(func() { server.Stop(); serving.Wait() })
	env := b.put(boundary.Spec{ID: boxID, Bindings: []inject.Binding{binding}}, defaultPolicy)
	b.start()
	conn, err := grpc.NewClient("passthrough:///bound.allowed.test:443",
		grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{RootCAs: pool(b.opts.Authority)})),
		grpc.WithContextDialer(func(_ context.Context, to string) (net.Conn, error) { return b.connect(to).Conn, nil }))
	b.must(err)
	t.Cleanup(func() { conn.Close() })
	return b, service, conn, "Bearer " + env["API_TOKEN"]
}

func TestGRPCUnary(t *testing.T) {
	t.Parallel()
	b, _, conn, auth := grpcBed(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out wrapperspb.StringValue
	var trailer metadata.MD
	err := conn.Invoke(metadata.AppendToOutgoingContext(ctx, "authorization", auth), echoService+"Unary", wrapperspb.String("hello "), &out, grpc.Trailer(&trailer))
	b.must(err)
	if out.Value != "hello Bearer "+secret1 || trailer.Get("x-trailer")[0] != "after" {
		t.Errorf("%q, trailer %v", out.Value, trailer)
	}
	big := strings.Repeat("x", 3<<20)
	b.must(conn.Invoke(ctx, echoService+"Unary", wrapperspb.String(big), &out))
	if out.Value != big {
		t.Errorf("%d bytes came back of %d", len(out.Value), len(big))
	}
	// Case: A10: an error is a response of trailers only.
	for range 2 {
		err = conn.Invoke(ctx, echoService+"Unary", wrapperspb.String("fail"), &out)
		if s := status.Convert(err); s.Code() != codes.NotFound || s.Message() != "nothing: 100% absent" {
			t.Errorf("error %v", err)
		}
	}
	if err := conn.Invoke(ctx, echoService+"None", wrapperspb.String(""), &out); status.Code(err) != codes.Unimplemented {
		t.Errorf("error %v", err)
	}
}

func TestGRPCStreams(t *testing.T) {
	t.Parallel()
	b, _, conn, _ := grpcBed(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	open := func(name string, up, down bool) grpc.ClientStream {
		s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: up, ServerStreams: down}, echoService+name)
		b.must(err)
		return s
	}
	var m wrapperspb.StringValue

	both := open("Both", true, true)
	for i := range 20 { // each answer before the next message
		b.must(both.SendMsg(wrapperspb.String(fmt.Sprint(i))))
		b.must(both.RecvMsg(&m))
		if m.Value != fmt.Sprint(i) {
			t.Fatalf("message %q, want %d", m.Value, i)
		}
	}
	b.must(both.CloseSend())
	b.must(both.RecvMsg(&m))
	if err := both.RecvMsg(&m); m.Value != "end" || !errors.Is(err, io.EOF) {
		t.Errorf("%q, then %v", m.Value, err)
	}

	up := open("Up", true, false)
	for range 100 {
		b.must(up.SendMsg(wrapperspb.String(strings.Repeat("x", 1000))))
	}
	b.must(up.CloseSend())
	b.must(up.RecvMsg(&m))
	if m.Value != "100000" {
		t.Errorf("%s bytes arrived, want 100000", m.Value)
	}

	down := open("Down", false, true)
	b.must(down.SendMsg(wrapperspb.String("n")))
	b.must(down.CloseSend())
	n := 0
	for ; down.RecvMsg(&m) == nil; n++ {
		if m.Value != fmt.Sprint("n", n) {
			t.Fatalf("message %q, want n%d", m.Value, n)
		}
	}
	if n != 100 {
		t.Errorf("%d messages, want 100", n)
	}
}

func TestGRPCEnds(t *testing.T) {
	t.Parallel()
	b, service, conn, _ := grpcBed(t)
	var out wrapperspb.StringValue
	ended := func() {
		t.Helper()
		select {
		case <-service.ended:
		case <-time.After(10 * time.Second):
			t.Error("the server's call goes on")
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	err := conn.Invoke(ctx, echoService+"Unary", wrapperspb.String("wait"), &out)
	cancel()
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("deadline: error %v", err)
	}
	ended()
	ctx, cancel = context.WithCancel(t.Context())
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, echoService+"Both")
	b.must(err)
	b.must(s.SendMsg(wrapperspb.String("x")))
	b.must(s.RecvMsg(&out))
	cancel()
	if err := s.RecvMsg(&out); status.Code(err) != codes.Canceled {
		t.Errorf("cancellation: error %v", err)
	}
	ended()
	// The connection goes on.
	b.must(conn.Invoke(t.Context(), echoService+"Unary", wrapperspb.String("x"), &out))
}
