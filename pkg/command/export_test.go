package command

import "time"

// What the tests of this package look at from outside.
const (
	TailLimit   = tailLimit
	MaxLineText = maxLineText
	PieceSize   = pieceSize
)

// NewJobsEvery is NewJobs with another interval of looking whether jobs are over.
func NewJobsEvery(clock func() time.Time, every time.Duration) *Jobs {
	j := NewJobs(clock)
	j.every = every
	return j
}
