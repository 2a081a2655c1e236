// Go's part in versus: each workload of benches/src/work written as a Go program would have it.
//
// The conversation is that of benches/src/control.rs: `child BENCH PEER SIZE` says `result SUM VALUE...`
// and stays until its input ends, so that its /proc files can be read; `serve BENCH PEER CORE` says
// `ready PORT` and answers each line of input with `count N`.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
)

const workers = 2

// Pieces of work that a server has finished.
var pieces atomic.Uint64

func main() {
	runtime.GOMAXPROCS(workers)
	if len(os.Args) != 5 {
		fail("child BENCH PEER SIZE, or serve BENCH PEER CORE")
	}
	bench := os.Args[2]
	switch os.Args[1] {
	case "child":
		size, err := strconv.Atoi(os.Args[4])
		work, known := works[bench]
		if err != nil || !known {
			fail("no such work: " + bench)
		}
		sum, values := work(size)
		fmt.Printf("result %d", sum)
		for _, value := range values {
			fmt.Printf(" %g", value)
		}
		fmt.Println()
		io.Copy(io.Discard, os.Stdin)
	case "serve":
		go answer()
		if err := serve(bench); err != nil {
			fail(err.Error())
		}
	default:
		fail("unknown verb " + os.Args[1])
	}
}

// answer tells the count for each line of input, and ends the process with the input.
func answer() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Printf("count %d\n", pieces.Load())
	}
	os.Exit(0)
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, "versus-go:", message)
	os.Exit(1)
}
