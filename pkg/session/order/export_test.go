package order

// Empty reports whether the queue has forgotten everything.
func (q *Queue) Empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.arrived)+len(q.entered) == 0
}
