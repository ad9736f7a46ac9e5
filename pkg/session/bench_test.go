package session_test

import (
	"context"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/session"
)

// BenchmarkCall is what a call costs here: its place in the order, its session, and giving it up.
func BenchmarkCall(b *testing.B) {
	s := newBench(b).open()
	sess, handle := mustSelect(b, s, chat, "", "INT-1")
	sess.Wrote("a.go", hash(1))
	check.OK(b, s.Flush())
	for name, call := range map[string]session.Call{"handle": {Handle: handle}, "connection": {}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				turn := s.Arrive(chat, call)
				check.OK(b, turn.Wait(context.Background()))
				_, err := s.Resolve(turn.Caller(), call.Handle, "")
				check.OK(b, err)
				turn.Done()
			}
		})
	}
}

func BenchmarkSaw(b *testing.B) {
	sess, _ := mustSelect(b, newBench(b).open(), chat, "", "INT-1")
	b.ReportAllocs()
	for b.Loop() {
		sess.Saw("a.go", hash1, 2000, 1, 2000)
	}
}

var hash1 = hash(1)

func BenchmarkSelect(b *testing.B) {
	s := newBench(b).open()
	for b.Loop() {
		mustSelect(b, s, chat, "", "INT-1")
	}
}
