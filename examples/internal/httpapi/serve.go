package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// drainTime bounds how long requests may take to end after the signal.
const drainTime = 20 * time.Second

// maxHeader bounds the headers of a request, in bytes: a token of 16 KB, a cursor
// of 8 KB, and the rest.
const maxHeader = 32 << 10

// Serve serves requests until the context ends, and then finishes those in
// flight. ready is called with the address once it listens.
func Serve(ctx context.Context, addr string, handler http.Handler, log *slog.Logger, ready func(url string)) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           handler,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    maxHeader,
		// The handler responds to OPTIONS *, as to everything else.
		DisableGeneralOptionsHandler: true,
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	ready("http://" + listener.Addr().String())
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
	}
	log.Info("draining")
	// The context has ended; requests in flight get their own time.
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		return err
	}
	if err := <-stopped; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
