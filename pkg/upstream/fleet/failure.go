package fleet

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/privatefile"
	"github.com/intentgov/orchestra-mcp/pkg/upstream"
)

// Failure is how a server has failed last, in any process of the user. A start that succeeds forgets it.
type Failure struct {
	At    time.Time `json:"at"`
	Why   string    `json:"why"`   // safe to print, without secrets
	Times int       `json:"times"` // in a row, in the process that has noted it
	Of    string    `json:"of"`    // a hash of how the server was reached: another program, or address, has not failed
}

// maxFailure bounds the file of one, in bytes.
const maxFailure = 64 << 10

// Failed returns the last failure that is noted of a server, as it is declared now and has secrets now; ok is false where none is.
func (f Files) Failed(d upstream.Definition) (failure Failure, ok bool) {
	text, err := durable.ReadRegular(f.Failure, maxFailure)
	if info, missing := os.Stat(f.Secrets); missing == nil && stampOf(f.Failure).at < info.ModTime().UnixNano() {
		return failure, false
	}
	return failure, err == nil && json.Unmarshal(text, &failure) == nil && failure.Why != "" && failure.Of == reachedBy(d)
}

func reachedBy(d upstream.Definition) string {
	return digest(strings.Join(slices.Concat([]string{d.URL}, d.Command, d.Env), "\x00"), 16)
}

// noteFailure keeps for doctor and `servers list` why the server does not run: else it is only known where it was started. The
// caller holds the lock.
func (s *server) noteFailure(now time.Time) {
	if s.closed || s.fleet.ctx.Err() != nil || Ready(s.fleet.o, s.def) != nil { // which says itself what is wrong, until it is mended
		return
	}
	text, err := json.Marshal(Failure{At: now.UTC().Truncate(time.Second), Why: s.why.Error(), Times: s.ends, Of: reachedBy(s.def)})
	if err == nil {
		_ = privatefile.Replace(s.files.Failure, string(text)+"\n") // the log has it as well
	}
}
