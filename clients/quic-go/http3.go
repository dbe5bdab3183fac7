package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
	_ "github.com/quic-go/quic-go/qlog" // what its files hold
	"github.com/quic-go/quic-go/qlogwriter"
)

type http3Fetcher struct {
	transport   *http3.Transport
	config      *tls.Config
	quicConfig  *quic.Config
	ip          net.IP
	limit       time.Duration
	early       bool
	qlogs       sync.WaitGroup
	connections atomic.Int64
	connection  atomic.Pointer[quic.Conn]
	sockets     []*quic.Transport
}

func newHTTP3(ip net.IP, limit time.Duration, early bool, config *tls.Config) *http3Fetcher {
	h := &http3Fetcher{ip: ip, limit: limit, early: early, config: config}
	h.quicConfig = &quic.Config{HandshakeIdleTimeout: limit, Tracer: h.tracer}
	h.transport = h.newTransport()
	return h
}

func (h *http3Fetcher) newTransport() *http3.Transport {
	return &http3.Transport{
		TLSClientConfig:    h.config,
		QUICConfig:         h.quicConfig,
		DisableCompression: true,
		Dial:               h.dial,
	}
}

func (h *http3Fetcher) dial(ctx context.Context, address string, tlsConfig *tls.Config, config *quic.Config) (*quic.Conn, error) {
	_, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := net.LookupPort("udp", portText)
	if err != nil {
		return nil, err
	}
	network, local := "udp4", net.IPv4zero
	if h.ip.To4() == nil {
		network, local = "udp6", net.IPv6unspecified
	}
	socket, err := net.ListenUDP(network, &net.UDPAddr{IP: local})
	if err != nil {
		return nil, err
	}
	mine := &quic.Transport{Conn: socket}
	h.sockets = append(h.sockets, mine)
	limited, cancel := context.WithTimeoutCause(ctx, h.limit, errConnect)
	dial := mine.Dial // offers no early data, whatever the ticket allows
	if h.early {
		dial = mine.DialEarly
	}
	connection, err := dial(limited, &net.UDPAddr{IP: h.ip, Port: port}, tlsConfig, config)
	if err != nil {
		cause := told(limited, err)
		cancel()
		return nil, cause
	}
	h.connections.Add(1)
	h.connection.Store(connection)
	go func() { // with a ticket, dialling is over before the handshake is
		defer cancel()
		select {
		case <-connection.HandshakeComplete():
			if trace := httptrace.ContextClientTrace(ctx); trace != nil {
				trace.TLSHandshakeDone(tls.ConnectionState{}, nil)
			}
		case <-connection.Context().Done():
		}
	}()
	return connection, nil
}

func (h *http3Fetcher) do(request *http.Request) (*http.Response, error) {
	return h.transport.RoundTrip(request)
}

func (h *http3Fetcher) describe(clock *clock, said report) report {
	said.Connections = int(h.connections.Load())
	said.HandshakeS = clock.handshake.Load()
	connection := h.connection.Load()
	if connection == nil {
		return said
	}
	if peer, ok := connection.RemoteAddr().(*net.UDPAddr); ok {
		said.RemoteAddress = peer.IP.String()
	}
	state := connection.ConnectionState()
	said = said.withTLS(state.TLS)
	if said.TLSVersion != "" {
		said.EarlyData = &state.Used0RTT
	}
	return said
}

func (h *http3Fetcher) awaitTicket(ctx context.Context) error {
	return await(ctx, h.config.ClientSessionCache)
}

func (h *http3Fetcher) hangUp() {
	_ = h.transport.Close()
	h.transport = h.newTransport()
}

func (h *http3Fetcher) forget() { h.connections.Store(0) }

func (h *http3Fetcher) close() {
	_ = h.transport.Close()
	for _, socket := range h.sockets {
		_ = socket.Close()
	}
	h.qlogs.Wait()
}

// tracer writes a qlog into the folder that QLOGDIR names; close waits for its end.
func (h *http3Fetcher) tracer(_ context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace {
	folder := os.Getenv("QLOGDIR")
	if folder == "" {
		return nil
	}
	file, err := os.Create(filepath.Join(folder, fmt.Sprintf("%s_client.sqlog", id)))
	if err != nil {
		fmt.Fprintln(os.Stderr, "quic-go: no qlog:", err)
		return nil
	}
	sequence := qlogwriter.NewConnectionFileSeq(&buffered{bufio.NewWriter(file), file}, isClient, id)
	h.qlogs.Go(sequence.Run)
	return sequence
}

type buffered struct {
	*bufio.Writer
	file *os.File
}

func (b *buffered) Close() error {
	if err := b.Flush(); err != nil {
		return err
	}
	return b.file.Close()
}
