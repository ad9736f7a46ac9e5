package main

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

// mux lets several goroutines call over one connection at the same time.
type mux struct {
	mu      sync.Mutex
	in      io.Writer
	last    int
	waiting map[int]chan []byte
	err     error
}

// share hands the peer's streams to a mux; the peer itself makes no further calls.
func (p *peer) share() *mux {
	m := &mux{in: p.in, last: p.last, waiting: map[int]chan []byte{}}
	go m.read(p.out)
	return m
}

func (m *mux) read(out *bufio.Reader) {
	for {
		line, err := out.ReadBytes('\n')
		if err != nil {
			m.fail(err)
			return
		}
		if id, ok := answerID(line); ok {
			m.mu.Lock()
			if answer := m.waiting[id]; answer != nil {
				delete(m.waiting, id)
				answer <- line
			}
			m.mu.Unlock()
		}
	}
}

func (m *mux) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err = err
	for _, answer := range m.waiting {
		close(answer)
	}
	m.waiting = nil
}

func (m *mux) call(tool string, a args) error {
	answer, err := m.send(tool, a)
	if err != nil {
		return err
	}
	line, ok := <-answer
	if !ok {
		return errors.New("the connection ended before the answer")
	}
	return failure(line)
}

func (m *mux) send(tool string, a args) (<-chan []byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return nil, m.err
	}
	m.last++
	answer := make(chan []byte, 1)
	m.waiting[m.last] = answer
	_, err := m.in.Write(encodeCall(m.last, tool, a))
	return answer, err
}
