package sandbox

import "runtime"

// onThread runs f as Go does, and returns what it does.
func onThread[T any](f func() T) T {
	done := make(chan T)
	Go(func() { done <- f() })
	return <-done
}

// Go runs f in a goroutine of its own on an OS thread of its own, which is not
// the process's main one and ends with f: as Start wants it.
func Go(f func()) {
	go func() {
		runtime.LockOSThread()
		if !onMainThread() {
			f() // the thread is never unlocked, so it is not used again
			return
		}
		defer runtime.UnlockOSThread()
		elsewhere := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(elsewhere) // the main thread was held until here
			f()
		}()
		<-elsewhere
	}()
}
