package mcpclient

import (
	"sync/atomic"

	"github.com/rs/zerolog"
)

// Dropped counts what was not taken of what a server sent.
type Dropped struct {
	Answers  int64 // to nothing that was asked, or asked any more
	Requests int64 // questions that were cancelled or refused: not one request they can belong to, or too many at once
	Notices  int64 // notifications for nobody
	Garbage  int64 // lines that are no message
}

type counts struct {
	answers, requests, notices, garbage atomic.Int64
	logger                              zerolog.Logger
}

func (c *counts) read() Dropped {
	return Dropped{Answers: c.answers.Load(), Requests: c.requests.Load(), Notices: c.notices.Load(), Garbage: c.garbage.Load()}
}

// drop counts one, and logs the first, the tenth, the hundredth and so on.
func (c *counts) drop(what *atomic.Int64, why, of string) {
	n := what.Add(1)
	for n%10 == 0 {
		n /= 10
	}
	if n == 1 {
		c.logger.Warn().Int64("so_far", what.Load()).Str("what", shown(of)).Msg(why)
	}
}
