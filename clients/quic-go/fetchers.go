package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// fetcher is one way to fetch: by net/http or by quic-go.
type fetcher interface {
	do(*http.Request) (*http.Response, error)
	// describe adds what is known of the connection.
	describe(*clock, report) report
	// awaitTicket returns once the server has handed out a session ticket.
	awaitTicket(context.Context) error
	// hangUp closes the connection; the next request opens another one.
	hangUp()
	// forget makes the counts begin anew.
	forget()
	close()
}

// moment is a time in seconds since the start, set once by whichever goroutine sees it.
type moment struct{ value atomic.Pointer[float64] }

func (m *moment) set(at *float64) { m.value.CompareAndSwap(nil, at) }
func (m *moment) Load() *float64  { return m.value.Load() }

type clock struct {
	started   time.Time
	handshake moment
	firstByte moment
	lastByte  *float64
}

func (c *clock) now() *float64 {
	elapsed := time.Since(c.started).Seconds()
	return &elapsed
}

func (c *clock) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil {
				c.handshake.set(c.now())
			}
		},
		GotFirstResponseByte: func() { c.firstByte.set(c.now()) },
	})
}

// tickets keeps session tickets and says when one came.
type tickets struct {
	tls.ClientSessionCache
	came chan struct{}
}

func newTickets() *tickets {
	return &tickets{tls.NewLRUClientSessionCache(8), make(chan struct{}, 8)}
}

func (t *tickets) Put(key string, state *tls.ClientSessionState) {
	t.ClientSessionCache.Put(key, state)
	if state != nil {
		select {
		case t.came <- struct{}{}:
		default:
		}
	}
}

func await(ctx context.Context, cache tls.ClientSessionCache) error {
	kept, ok := cache.(*tickets)
	if !ok {
		return errors.New("no tickets are kept")
	}
	select {
	case <-kept.came:
		return nil
	case <-ctx.Done():
		return errors.New("timed out: the server handed out no session ticket")
	}
}

type http2 struct {
	transport   *http.Transport
	config      *tls.Config
	ip          net.IP
	limit       time.Duration
	connections atomic.Int64
	connection  atomic.Pointer[tls.Conn]
}

func newHTTP2(ip net.IP, limit time.Duration, config *tls.Config) *http2 {
	config.NextProtos = []string{"h2"}
	h := &http2{ip: ip, limit: limit, config: config}
	h.transport = h.newTransport()
	return h
}

func (h *http2) newTransport() *http.Transport {
	only := new(http.Protocols)
	only.SetHTTP2(true)
	return &http.Transport{
		Protocols:          only,
		DisableCompression: true,
		DialTLSContext:     h.dial, // dialled here, because the connection is wanted for what it says of its TLS session
	}
}

func (h *http2) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, h.limit, errConnect)
	defer cancel()
	plain, err := (&net.Dialer{}).DialContext(limited, "tcp", net.JoinHostPort(h.ip.String(), port))
	if err != nil {
		return nil, told(limited, err)
	}
	mine := h.config.Clone()
	mine.ServerName = host
	connection := tls.Client(plain, mine)
	err = connection.HandshakeContext(limited)
	if trace := httptrace.ContextClientTrace(ctx); trace != nil {
		trace.TLSHandshakeDone(tls.ConnectionState{}, err)
	}
	if err != nil {
		_ = plain.Close()
		return nil, told(limited, err)
	}
	h.connections.Add(1)
	h.connection.Store(connection)
	return connection, nil
}

var errConnect = errors.New("connect timed out")

func (h *http2) do(request *http.Request) (*http.Response, error) {
	return h.transport.RoundTrip(request)
}

func (h *http2) describe(clock *clock, said report) report {
	said.Connections = int(h.connections.Load())
	said.HandshakeS = clock.handshake.Load()
	connection := h.connection.Load()
	if connection == nil {
		return said
	}
	if peer, ok := connection.RemoteAddr().(*net.TCPAddr); ok {
		said.RemoteAddress = peer.IP.String()
	}
	return said.withTLS(connection.ConnectionState())
}

func (h *http2) awaitTicket(ctx context.Context) error {
	return await(ctx, h.config.ClientSessionCache)
}

func (h *http2) hangUp() {
	h.transport.CloseIdleConnections()
	h.transport = h.newTransport() // also when the old connection does not count as idle yet
}

func (h *http2) forget() { h.connections.Store(0) }
func (h *http2) close()  { h.transport.CloseIdleConnections() }
