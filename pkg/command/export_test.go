package command

import (
	"fmt"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

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

// StartsAgain is how often a command is started again.
const StartsAgain = startsAgain

// MovedAtFirst has the first starts of a command fail, as if a file of its box had been replaced meanwhile, and counts all.
func (r *Runner) MovedAtFirst(many int) (starts *int) {
	starts = new(int)
	start := r.start
	r.start = func(shell string, spec *Spec, theirs streams) (*process, error) {
		if *starts++; *starts <= many {
			return nil, fmt.Errorf("%w: no such file", sandbox.ErrMoved)
		}
		return start(shell, spec, theirs)
	}
	return starts
}
