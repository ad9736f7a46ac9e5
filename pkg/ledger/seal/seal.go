package seal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/intentgov/orchestra-mcp/pkg/ledger"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/record"
	"github.com/intentgov/orchestra-mcp/pkg/ledger/verify"
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

// CreateOptions say how to seal.
type CreateOptions struct {
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// WithProblems seals a ledger that is known to be damaged, as it is.
	WithProblems bool
	// Elsewhere as in VerifyOptions. A branch that is incomplete, and no worse, can be sealed.
	Elsewhere verify.Elsewhere
}

// Created is a seal and where it stands.
type Created struct {
	Seal
	File    string // relative to the workspace
	Already bool   // and it was there before: nothing has been appended since
}

// Create seals all heads that the ledger has now, and puts the public key into the repository. The seal is on disk when
// it returns. A ledger with problems, of the chain or of earlier seals, gives ErrProblems with the report's first one.
func Create(ctx context.Context, root *os.Root, key *Key, opts CreateOptions) (Created, error) {
	report, err := Verify(ctx, root, VerifyOptions{Trusted: []PublicKey{key.Public()}, Elsewhere: opts.Elsewhere})
	report.Problems = slices.DeleteFunc(report.Problems, func(p ledger.Problem) bool { return p.Kind == ledger.ProblemIncomplete })
	switch {
	case err != nil:
		return Created{}, err
	case len(report.Heads) == 0:
		return Created{}, ErrNothingToSeal
	case len(report.Problems) > 0 && !opts.WithProblems:
		p := report.Problems[0]
		return Created{}, fmt.Errorf("%w (%d), and a seal would vouch for it: %s line %d: %s", ErrProblems, len(report.Problems), p.Segment, p.Line, p.Detail)
	}
	for _, old := range slices.Backward(report.Seals) {
		if old.Trust == TrustedKey && old.Holds && slices.Equal(old.Heads, report.Heads) {
			s := Seal{Time: old.Time, Lines: old.Lines, Heads: old.Heads}
			return Created{Seal: s, File: path.Join(homeDir, old.File), Already: true}, nil
		}
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := Seal{
		Time: opts.Now().UTC().Truncate(time.Second), Lines: report.Records + report.Foreign, Heads: report.Heads,
	}
	file, err := s.publish(root, key)
	if err != nil {
		return Created{}, fmt.Errorf("seal the ledger: %w", err)
	}
	return Created{Seal: s, File: file}, nil
}

func (s Seal) publish(root *os.Root, key *Key) (string, error) {
	signed, err := note.Sign(&note.Note{Text: s.Text()}, key.signer)
	if err != nil {
		return "", err
	}
	if len(signed) > maxSealFile {
		return "", errors.New("the ledger has too many heads for a seal; the next append joins them")
	}
	public := key.Public()
	if err := publishFile(root, []byte(public.String()+"\n"), public.ID(), sealsDir, keysDir); err != nil {
		return "", fmt.Errorf("%s: %w", path.Join(homeDir, sealsDir, keysDir, public.ID()), err)
	}
	digest := sha256.Sum256(signed)
	name := s.Time.Format("20060102T150405Z") + "-" + hex.EncodeToString(digest[:6]) + suffix
	file := path.Join(homeDir, sealsDir, name)
	if err := publishFile(root, signed, name, sealsDir); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return file, nil
}

// PutBack makes a seal stand again that was there before: file is its name relative to .orchestration, content all of
// it. One that stands there with another content is an error, and stays.
func PutBack(root *os.Root, file string, content []byte) error {
	name, ok := strings.CutPrefix(file, sealsDir+"/")
	if !ok || strings.Contains(name, "/") || strings.HasPrefix(name, ".") || !strings.HasSuffix(name, suffix) || len(content) > maxSealFile {
		return fmt.Errorf("%w: %s", ErrMalformed, file)
	}
	if err := publishFile(root, content, name, sealsDir); err != nil {
		return fmt.Errorf("%s: %w", path.Join(homeDir, file), err)
	}
	return nil
}
