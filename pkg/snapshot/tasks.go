package snapshot

import (
	"sync"
	"sync/atomic"
)

// task is a directory to look into.
type task struct {
	parent *handle
	name   string // "" for the top
	path   string
	node   *node
	area   area
}

// stack has the tasks that wait, the last first: so few directories are open at a time.
type stack struct {
	mu    sync.Mutex
	wake  *sync.Cond
	tasks []task
	busy  int // tasks that wait or are being done
}

func (s *stack) push(t ...task) {
	s.mu.Lock()
	s.tasks = append(s.tasks, t...)
	s.busy += len(t)
	s.mu.Unlock()
	s.wake.Broadcast()
}

// pop waits for a task; false when there will be none.
func (s *stack) pop() (task, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.tasks) == 0 {
		if s.busy == 0 {
			return task{}, false
		}
		s.wake.Wait()
	}
	t := s.tasks[len(s.tasks)-1]
	s.tasks = s.tasks[:len(s.tasks)-1]
	return t, true
}

func (s *stack) done() {
	s.mu.Lock()
	s.busy--
	last := s.busy == 0
	s.mu.Unlock()
	if last {
		s.wake.Broadcast()
	}
}

// handle is an open directory, held by a counted number of tasks.
type handle struct {
	dirHandle
	holders atomic.Int32
}

func newHandle(dir dirHandle) *handle {
	h := &handle{dirHandle: dir}
	h.holders.Store(1)
	return h
}

func (h *handle) hold() *handle {
	h.holders.Add(1)
	return h
}

func (h *handle) release() {
	if h.holders.Add(-1) == 0 {
		h.close()
	}
}
