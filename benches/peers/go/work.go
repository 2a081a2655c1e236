package main

import (
	"os"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A workload gives its checksum and a figure for each row of its bench.
type work func(size int) (uint64, []float64)

var works = map[string]work{
	"spawn_join_external": spawnJoin,
	"spawn_join_internal": spawnJoin,
	"chained_spawn":       chainedSpawn,
	"skynet":              skynet,
	"yield_1k":            func(size int) (uint64, []float64) { return yields(1000, 1000, size) },
	"yield_1":             func(size int) (uint64, []float64) { return yields(1, size, size) },
	"pingpong":            pingpong,
	"mpsc_b1024":          func(size int) (uint64, []float64) { return fanIn(size, 1) },
	"mpmc_b1024":          func(size int) (uint64, []float64) { return fanIn(size, 4) },
	"timer_cancel":        timerCancel,
	"timer_mass":          timerMass,
	"sleep_100us":         sleep100us,
	"wake_latency":        wakeLatency,
	"blocked":             blocked,
	"memory":              memory,
}

// each is a time an item, in nanoseconds.
func each(started time.Time, size int) []float64 {
	return []float64{float64(time.Since(started).Nanoseconds()) / float64(size)}
}

func median(values []float64) []float64 {
	sort.Float64s(values)
	return []float64{values[len(values)/2]}
}

// spawnJoin waits for a batch at once, as Go has no join handles.
// All goroutines are alike to the scheduler, so there is no plain thread to spawn from either.
func spawnJoin(size int) (uint64, []float64) {
	const batch = 1000
	sum := uint64(0)
	results := make([]uint64, batch)
	started := time.Now()
	for first := 0; first < size; first += batch {
		var group sync.WaitGroup
		end := min(size, first+batch)
		group.Add(end - first)
		for index := first; index < end; index++ {
			go func() {
				results[index-first] = uint64(index)
				group.Done()
			}()
		}
		group.Wait()
		for _, result := range results[:end-first] {
			sum += result
		}
	}
	return sum, each(started, size)
}

func chainedSpawn(size int) (uint64, []float64) {
	done := make(chan uint64)
	var link func(left, before int)
	link = func(left, before int) {
		if left <= 1 {
			done <- uint64(before + 1)
			return
		}
		go link(left-1, before+1)
	}
	started := time.Now()
	go link(size, 0)
	return <-done, each(started, size)
}

func skynet(size int) (uint64, []float64) {
	result := make(chan uint64, 1)
	started := time.Now()
	go node(result, 0, size)
	sum := <-result
	return sum, []float64{time.Since(started).Seconds() * 1e3}
}

func node(parent chan<- uint64, first, leaves int) {
	const children = 10
	if leaves == 1 {
		parent <- uint64(first)
		return
	}
	sums := make(chan uint64, children)
	share := leaves / children
	for child := 0; child < children; child++ {
		go node(sums, first+child*share, share)
	}
	sum := uint64(0)
	for child := 0; child < children; child++ {
		sum += <-sums
	}
	parent <- sum
}

// yields runs sets of goroutines that yield up to `most` times each, until size yields are done.
func yields(tasks, most, size int) (uint64, []float64) {
	var sum atomic.Uint64
	started := time.Now()
	for left := size; left > 0; left = size - int(sum.Load()) {
		share := min(most, (left+tasks-1)/tasks)
		var group sync.WaitGroup
		group.Add(tasks)
		for task := 0; task < tasks; task++ {
			go func() {
				for left := share; left > 0; left-- {
					runtime.Gosched()
				}
				sum.Add(uint64(share))
				group.Done()
			}()
		}
		group.Wait()
	}
	return sum.Load(), each(started, size)
}

func pingpong(size int) (uint64, []float64) {
	questions, answers := make(chan uint64, 1), make(chan uint64, 1)
	go func() {
		for question := range questions {
			answers <- question + 1
		}
	}()
	sum := uint64(0)
	started := time.Now()
	for question := 0; question < size; question++ {
		questions <- uint64(question)
		sum += <-answers
	}
	close(questions)
	return sum, each(started, size)
}

func fanIn(size, consumers int) (uint64, []float64) {
	const producers = 4
	messages := make(chan uint64, 1024)
	sums := make(chan uint64)
	var sending sync.WaitGroup
	sending.Add(producers)
	share := size / producers
	started := time.Now()
	for consumer := 0; consumer < consumers; consumer++ {
		go func() {
			sum := uint64(0)
			for message := range messages {
				sum += message
			}
			sums <- sum
		}()
	}
	for producer := 0; producer < producers; producer++ {
		go func() {
			for message := producer * share; message < (producer+1)*share; message++ {
				messages <- uint64(message)
			}
			sending.Done()
		}()
	}
	sending.Wait()
	close(messages)
	sum := uint64(0)
	for consumer := 0; consumer < consumers; consumer++ {
		sum += <-sums
	}
	return sum, each(started, size)
}

// timerCancel sets and stops a timer: what a timeout that does not fire comes down to.
func timerCancel(size int) (uint64, []float64) {
	const tasks, breath = 2, 1000
	var group sync.WaitGroup
	var pending atomic.Uint64
	group.Add(tasks)
	started := time.Now()
	for task := 0; task < tasks; task++ {
		go func() {
			stopped := uint64(0)
			for index := 1; index <= size/tasks; index++ {
				timer := time.NewTimer(10 * time.Second)
				if timer.Stop() {
					stopped++
				}
				if index%breath == 0 {
					runtime.Gosched()
				}
			}
			pending.Add(stopped)
			group.Done()
		}()
	}
	group.Wait()
	return pending.Load(), each(started, size)
}

func timerMass(size int) (uint64, []float64) {
	var woken atomic.Uint64
	before := status("VmRSS")
	cpu := cpuSeconds()
	for index := 0; index < size; index++ {
		length := time.Duration(500+index*7919%1000) * time.Millisecond
		go func() {
			time.Sleep(length)
			woken.Add(1)
		}()
	}
	for woken.Load() < uint64(size) {
		time.Sleep(20 * time.Millisecond)
	}
	bytes := float64(status("VmHWM")-before) / float64(size)
	return woken.Load(), []float64{cpuSeconds() - cpu, bytes}
}

func sleep100us(size int) (uint64, []float64) {
	const length = 100 * time.Microsecond
	var late []float64
	for left := size; left > 0; left-- {
		before := time.Now()
		time.Sleep(length)
		if over := time.Since(before) - length; over >= 0 {
			late = append(late, float64(over.Nanoseconds())/1e3)
		}
	}
	return uint64(len(late)), median(late)
}

// wakeLatency rings from a goroutine that has a thread to itself and waits in the kernel, which is as near
// to a plain thread as a Go program comes.
func wakeLatency(size int) (uint64, []float64) {
	bell, heard := make(chan time.Time, 1), make(chan struct{}, 1)
	go func() {
		runtime.LockOSThread()
		for left := size; left > 0; left-- {
			pause := syscall.NsecToTimespec(time.Millisecond.Nanoseconds())
			syscall.Nanosleep(&pause, nil)
			bell <- time.Now()
			<-heard
		}
		close(bell)
	}()
	var delays []float64
	for rung := range bell {
		delays = append(delays, float64(time.Since(rung).Nanoseconds())/1e3)
		heard <- struct{}{}
	}
	return uint64(len(delays)), median(delays)
}

func blocked(size int) (uint64, []float64) {
	const tick, quiet = 5 * time.Millisecond, 50 * time.Millisecond
	var stop atomic.Bool
	longest := make(chan time.Duration)
	go func() {
		most, last := time.Duration(0), time.Now()
		for !stop.Load() {
			time.Sleep(tick)
			now := time.Now()
			most, last = max(most, now.Sub(last)), now
		}
		longest <- most
	}()
	time.Sleep(quiet)
	var group sync.WaitGroup
	var ended atomic.Uint64
	group.Add(workers)
	for range [workers]struct{}{} {
		go func() {
			// time.Sleep would only park the goroutine; this blocks its thread.
			pause := syscall.NsecToTimespec(int64(size) * time.Millisecond.Nanoseconds())
			syscall.Nanosleep(&pause, nil)
			ended.Add(1)
			group.Done()
		}()
	}
	group.Wait()
	time.Sleep(quiet)
	stop.Store(true)
	gap := <-longest
	return ended.Load(), []float64{gap.Seconds() * 1e3}
}

func memory(size int) (uint64, []float64) {
	var started atomic.Uint64
	before := status("VmRSS")
	for left := size; left > 0; left-- {
		go func() {
			started.Add(1)
			select {}
		}()
	}
	for started.Load() < uint64(size) {
		time.Sleep(5 * time.Millisecond)
	}
	return started.Load(), []float64{float64(status("VmRSS")-before) / float64(size)}
}

// status reads a size from /proc/self/status, in bytes.
func status(name string) int {
	text, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) >= 2 && fields[0] == name+":" {
			kilobytes, _ := strconv.Atoi(fields[1])
			return kilobytes * 1024
		}
	}
	return 0
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	nanos := usage.Utime.Nano() + usage.Stime.Nano()
	return float64(nanos) / 1e9
}
