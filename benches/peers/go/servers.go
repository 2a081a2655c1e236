package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Bytes that a connection can take in at once, as in benches/src/work/echo.rs.
const bufferSize = 1024

const inFlight = 4

func serve(bench string) error {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("ready %d\n", listener.Addr().(*net.TCPAddr).Port)
	switch {
	case bench == "http":
		return http.Serve(listener, http.HandlerFunc(hello))
	case bench == "idle":
		go time.Sleep(time.Hour)
	case bench == "mixed_inline":
		if err := startComputing(); err != nil {
			return err
		}
	case !strings.HasPrefix(bench, "echo_"):
		return fmt.Errorf("no such server: %s", bench)
	}
	return echo(listener)
}

func hello(answer http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(answer, "Hello, World!")
}

func echo(listener net.Listener) error {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go echoOne(connection)
	}
}

func echoOne(connection net.Conn) {
	defer connection.Close()
	buffer := make([]byte, bufferSize)
	for {
		count, err := connection.Read(buffer)
		if err != nil {
			return
		}
		if _, err := connection.Write(buffer[:count]); err != nil {
			return
		}
	}
}

// startComputing keeps pieces of computing in flight, each in a goroutine of its own.
func startComputing() error {
	steps, err := strconv.ParseUint(os.Getenv("VERSUS_PIECE_STEPS"), 10, 64)
	if err != nil {
		return err
	}
	for range [inFlight]struct{}{} {
		go func() {
			for {
				done := make(chan struct{})
				go func() {
					compute(steps)
					close(done)
				}()
				<-done
				pieces.Add(1)
			}
		}()
	}
	return nil
}

var computed uint64

// compute is the chain of steps of benches/src/work/mixed.rs.
func compute(steps uint64) {
	state := uint64(0x9E3779B97F4A7C15)
	for ; steps > 0; steps-- {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
	}
	if state == 0 {
		// Never: the steps are invertible. It keeps the loop from being dropped.
		computed++
	}
}
