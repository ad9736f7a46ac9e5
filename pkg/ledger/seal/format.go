package seal

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
)

const origin = "orchestra-mcp ledger seal v1"

// Seal is what is signed.
type Seal struct {
	Time  time.Time // UTC, whole seconds
	Lines int       // heads and lines before them, of whatever tool
	Heads []string  // sorted
}

// Text is the form that is signed.
func (s Seal) Text() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n%s\n%d\n", origin, s.Time.UTC().Format(time.RFC3339), s.Lines)
	for _, head := range s.Heads {
		text.WriteString(head + "\n")
	}
	return text.String()
}

// Parse reads the text of a seal. It accepts exactly what Text writes.
func Parse(text string) (Seal, error) {
	body, ok := strings.CutSuffix(text, "\n")
	lines := strings.Split(body, "\n")
	if !ok || len(lines) < 4 || lines[0] != origin {
		return Seal{}, fmt.Errorf("%w: it does not begin with %q, a time, a number and a head", ErrMalformed, origin)
	}
	at, err := time.Parse(time.RFC3339, lines[1])
	if err != nil || at.UTC().Format(time.RFC3339) != lines[1] {
		return Seal{}, fmt.Errorf("%w: line 2 is not a time in UTC", ErrMalformed)
	}
	count, err := strconv.Atoi(lines[2])
	if err != nil || strconv.Itoa(count) != lines[2] || count < 1 {
		return Seal{}, fmt.Errorf("%w: line 3 is not a number of lines", ErrMalformed)
	}
	s := Seal{Time: at.UTC(), Lines: count, Heads: lines[3:]}
	for _, head := range s.Heads {
		if _, err := record.ParseHash(head); err != nil {
			return Seal{}, fmt.Errorf("%w: %v", ErrMalformed, err)
		}
	}
	if !slices.IsSorted(s.Heads) || len(slices.Compact(slices.Clone(s.Heads))) != len(s.Heads) {
		return Seal{}, fmt.Errorf("%w: its heads are not sorted, each once", ErrMalformed)
	}
	return s, nil
}

// The errors that a caller may test for with errors.Is.
var (
	// ErrMalformed: a text is not a seal.
	ErrMalformed = errors.New("this is not a seal")
	// ErrNoKey: the user has no private key yet. [CreateKey] makes one.
	ErrNoKey = errors.New("there is no key to seal with")
	// ErrUnsafeKey: the private key can be read by others, or lies in the workspace. Nothing was sealed.
	ErrUnsafeKey = errors.New("the key to seal with is not private")
	// ErrNothingToSeal: the ledger has no records.
	ErrNothingToSeal = errors.New("the ledger has no records to seal")
	// ErrProblems: the ledger is damaged, and a seal would vouch for it. Nothing was sealed.
	ErrProblems = errors.New("the ledger has problems")
)
