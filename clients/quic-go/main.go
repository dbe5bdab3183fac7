// quic-go fetches one URL over HTTP/3 by quic-go, or over HTTP/2 by Go's net/http, from one pinned address.
//
// The body goes to standard output as it comes; the last line on standard error is a JSON document with what was
// measured. Times are in seconds from just before the socket is made; certificates of authorities are read before that.
// SSLKEYLOGFILE and QLOGDIR are honoured.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "quic-go:", err)
		os.Exit(1)
	}
}

func run() error {
	var asked options
	version := flag.Bool("version", false, "print the versions and exit")
	asked.define()
	flag.Parse()
	if *version {
		fmt.Println(versions())
		return nil
	}
	if flag.NArg() != 1 {
		return errors.New("usage: quic-go [options] URL")
	}
	asked.url = flag.Arg(0)
	settings, closeKeys, err := asked.tlsConfig()
	if err != nil {
		return err
	}
	defer closeKeys()

	ctx, cancel := context.WithTimeoutCause(context.Background(), asked.timeout(), errors.New("the fetch timed out"))
	defer cancel()
	fetcher, err := asked.fetcher(settings)
	if err != nil {
		return err
	}
	defer fetcher.close()
	if asked.requestBefore {
		if err := before(ctx, fetcher, asked); err != nil {
			return fmt.Errorf("the request before: %w", err)
		}
	}
	report, err := fetch(ctx, fetcher, asked.url, asked.method())
	line, encodeErr := json.Marshal(report)
	if encodeErr != nil {
		return encodeErr
	}
	fmt.Fprintln(os.Stderr, string(line))
	return err
}

// before makes the request whose connection or session ticket the measured one uses.
func before(ctx context.Context, fetcher fetcher, asked options) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, asked.url, nil)
	if err != nil {
		return err
	}
	response, err := fetcher.do(request)
	if err != nil {
		return told(ctx, err)
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if asked.newConnection {
		if err := fetcher.awaitTicket(ctx); err != nil {
			return err
		}
		fetcher.hangUp()
	}
	fetcher.forget()
	return nil
}

// report is what is printed; a figure that is not known is left out.
type report struct {
	HandshakeS     *float64          `json:"handshake_s,omitempty"`
	FirstByteS     *float64          `json:"ttfb_s,omitempty"`
	LastByteS      *float64          `json:"ttlb_s,omitempty"`
	Status         int               `json:"status,omitempty"`
	HTTPVersion    string            `json:"http_version,omitempty"`
	BodyBytes      int64             `json:"body_bytes"`
	AnnouncedBytes *int64            `json:"announced_bytes,omitempty"`
	RemoteAddress  string            `json:"remote_address,omitempty"`
	Connections    int               `json:"connections"`
	TLSVersion     string            `json:"tls_version,omitempty"`
	TLSCipher      string            `json:"tls_cipher,omitempty"`
	TLSGroup       string            `json:"tls_group,omitempty"`
	Resumed        *bool             `json:"resumed,omitempty"`
	EarlyData      *bool             `json:"early_data,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
}

func fetch(ctx context.Context, fetcher fetcher, url, method string) (report, error) {
	request, err := http.NewRequest(method, url, nil)
	if err != nil {
		return report{}, err
	}
	request.Header.Set("Accept", "*/*")
	request.Header.Set("User-Agent", "lastbyte-quic-go")
	clock := &clock{started: time.Now()}
	request = request.WithContext(clock.traced(ctx))
	response, err := fetcher.do(request)
	if err != nil {
		return fetcher.describe(clock, report{}), told(ctx, err)
	}
	defer response.Body.Close()
	said := report{
		Status:      response.StatusCode,
		HTTPVersion: fmt.Sprint(response.ProtoMajor),
		FirstByteS:  clock.firstByte.Load(),
		Headers:     make(map[string]string, len(response.Header)),
	}
	for name := range response.Header {
		said.Headers[name] = response.Header.Get(name)
	}
	if response.ContentLength >= 0 {
		said.AnnouncedBytes = &response.ContentLength
	}
	said.BodyBytes, err = copyBody(os.Stdout, response.Body, clock)
	if err == nil {
		last := clock.lastByte
		if last == nil { // an empty body: its end is that of the header
			last = said.FirstByteS
		}
		said.LastByteS = last
	}
	said = fetcher.describe(clock, said)
	if err != nil {
		return said, told(ctx, err)
	}
	if said.Status != http.StatusOK {
		return said, fmt.Errorf("status %d", said.Status)
	}
	return said, nil
}

// copyBody notes the time of each read that brought something, before it is written.
func copyBody(to io.Writer, body io.Reader, clock *clock) (int64, error) {
	buffer := make([]byte, 64<<10)
	var total int64
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			clock.lastByte = clock.now()
			total += int64(n)
			if _, writeErr := to.Write(buffer[:n]); writeErr != nil {
				return total, writeErr
			}
		}
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}

// told is the error with its cause in plain words, where the context knows it.
func told(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	return err
}

func (r report) withTLS(state tls.ConnectionState) report {
	if !state.HandshakeComplete {
		return r
	}
	r.TLSVersion = map[uint16]string{tls.VersionTLS12: "TLSv1.2", tls.VersionTLS13: "TLSv1.3"}[state.Version]
	r.TLSCipher = tls.CipherSuiteName(state.CipherSuite)
	if state.CurveID != 0 {
		r.TLSGroup = groupName(state.CurveID)
	}
	r.Resumed = &state.DidResume
	return r
}

func versions() string {
	quic := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/quic-go/quic-go" {
				quic = module.Version
			}
		}
	}
	return fmt.Sprintf("quic-go %s, net/http of %s", quic, runtime.Version())
}
