package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/quic-go/quic-go/http3"
)

var groups = map[string]tls.CurveID{
	"X25519MLKEM768": tls.X25519MLKEM768,
	"X25519":         tls.X25519,
	"P-256":          tls.CurveP256,
	"P-384":          tls.CurveP384,
	"P-521":          tls.CurveP521,
}

func groupName(id tls.CurveID) string {
	for name, known := range groups {
		if known == id {
			return name
		}
	}
	return id.String()
}

type options struct {
	url             string
	protocol        string
	address         string
	caFile          string
	groups          string
	timeoutS        float64
	connectTimeoutS float64
	requestBefore   bool
	newConnection   bool
	earlyData       bool
}

func (o *options) define() {
	flag.StringVar(&o.protocol, "protocol", "h3", "h2 or h3; no other is spoken")
	flag.StringVar(&o.address, "address", "", "IP address to connect to, whatever the URL's host (required)")
	flag.StringVar(&o.caFile, "ca-file", "", "PEM file of the authorities to trust, instead of the system's")
	flag.StringVar(&o.groups, "groups", "", "key exchange groups to offer and no other, joined by colons")
	flag.Float64Var(&o.timeoutS, "timeout", 60, "limit of the whole fetch, in seconds")
	flag.Float64Var(&o.connectTimeoutS, "connect-timeout", 20, "limit of connecting, in seconds")
	flag.BoolVar(&o.requestBefore, "request-before", false, "make a HEAD request first; the measured one uses its connection")
	flag.BoolVar(&o.newConnection, "new-connection", false, "with -request-before: a new connection, with the ticket of the first")
	flag.BoolVar(&o.earlyData, "early-data", false, "with -new-connection: send the request as 0-RTT data (h3)")
}

func (o *options) timeout() time.Duration { return time.Duration(o.timeoutS * float64(time.Second)) }

func (o *options) connectTimeout() time.Duration {
	return time.Duration(o.connectTimeoutS * float64(time.Second))
}

func (o *options) method() string {
	if o.earlyData {
		return http3.MethodGet0RTT
	}
	return http.MethodGet
}

// tlsConfig reads the authorities, and opens the key log that SSLKEYLOGFILE names.
func (o *options) tlsConfig() (*tls.Config, func(), error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	roots, err := o.authorities()
	if err != nil {
		return nil, nil, err
	}
	config.RootCAs = roots
	if o.groups != "" {
		for name := range strings.SplitSeq(o.groups, ":") {
			id, known := groups[name]
			if !known {
				return nil, nil, fmt.Errorf("there is no group %q", name)
			}
			config.CurvePreferences = append(config.CurvePreferences, id)
		}
	}
	path := os.Getenv("SSLKEYLOGFILE")
	if path == "" {
		return config, func() {}, nil
	}
	keys, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	config.KeyLogWriter = keys
	return config, func() { _ = keys.Close() }, nil
}

func (o *options) authorities() (*x509.CertPool, error) {
	if o.caFile == "" {
		return x509.SystemCertPool()
	}
	pem, err := os.ReadFile(o.caFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", o.caFile)
	}
	return pool, nil
}

func (o *options) fetcher(config *tls.Config) (fetcher, error) {
	ip := net.ParseIP(o.address)
	if ip == nil {
		return nil, fmt.Errorf("-address %q is no IP address", o.address)
	}
	if o.requestBefore && o.newConnection {
		config.ClientSessionCache = newTickets()
	}
	switch {
	case o.protocol == "h2" && !o.earlyData:
		return newHTTP2(ip, o.connectTimeout(), config), nil
	case o.protocol == "h3":
		return newHTTP3(ip, o.connectTimeout(), o.earlyData, config), nil
	}
	return nil, errors.New("-protocol must be h2 or h3; early data needs h3")
}
