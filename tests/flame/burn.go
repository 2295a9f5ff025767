// SPDX-License-Identifier: MIT
// Burns in a method, in a goroutine.
package main

import "time"

type store struct{ sum uint64 }

//go:noinline
func (s *store) burn(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
		for i := uint64(0); i < 20000; i++ {
			s.sum += i
		}
	}
}

func main() {
	done := make(chan uint64)
	go func() {
		s := &store{}
		s.burn(time.Second)
		done <- s.sum
	}()
	<-done
}
