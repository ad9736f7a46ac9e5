package order

// Ready reports whether the turn's Wait would return at once.
func (t *Turn) Ready() bool {
	select {
	case <-t.ready:
		return true
	default:
		return false
	}
}

// Empty reports whether the queue has forgotten everything.
func (q *Queue) Empty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.keys) == 0 && len(q.connections) == 0
}
