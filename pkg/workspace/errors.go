package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
)

// Errors a caller can test for with errors.Is. Unless noted, they come wrapped in a [PathError].
var (
	// ErrInvalidPath: no file can have this path: empty, with a NUL or another control character, not UTF-8,
	// a name over 255 or a path over 4,096 bytes, or a chain of more than 40 symbolic links.
	ErrInvalidPath = errors.New("not a valid path")
	// ErrOutside: the path, or a symbolic link on it, leads out of the workspace.
	ErrOutside = errors.New("outside the workspace")
	// ErrNotRegular: a directory, FIFO, device or socket where a file is needed, or a file where a directory is.
	ErrNotRegular = errors.New("not a regular file")
	// ErrNotExist: nothing is there. It is also fs.ErrNotExist.
	ErrNotExist = fmt.Errorf("no such file in the workspace: %w", fs.ErrNotExist)
	// ErrExists: something is there that a create or move must not replace. It is also fs.ErrExist.
	ErrExists = fmt.Errorf("already there: %w", fs.ErrExist)
	// ErrTooLarge: the file is larger than the limit given to Read.
	ErrTooLarge = errors.New("larger than the limit")
	// ErrChangedDir: the directory that was checked is no longer the one at this path.
	ErrChangedDir = errors.New("its directory was replaced while the call was under way; send the call again")
	// ErrStale: the content is not the expected one. Always a [StaleError].
	ErrStale = errors.New("the content is not the expected one")
	// ErrBusy: somebody else holds the file longer than we wait. Nothing was changed.
	ErrBusy = errors.New("busy")
	// ErrConflict: two changes of one call touch the same path, or a change lacks what its kind needs.
	ErrConflict = errors.New("not a possible set of changes")
	// ErrBinary: the bytes are not text in an encoding that Decode knows. Not wrapped.
	ErrBinary = errors.New("binary content")
	// ErrUnencodable: a character that the file's encoding cannot hold. Wrapped with the character's place.
	ErrUnencodable = errors.New("cannot be written in the file's encoding")
)

// PathError says which path a failure is about. Path is workspace-relative where the path could be resolved,
// else as requested.
type PathError struct {
	Op   string // what was tried, such as "resolve", "read", "modify"
	Path string
	Err  error
}

func (e *PathError) Error() string { return e.Op + " " + visible(e.Path) + ": " + e.Err.Error() }

// Unwrap gives the reason.
func (e *PathError) Unwrap() error { return e.Err }

// StaleError says that a file is not what the caller thinks, and what it is instead. errors.Is(err, ErrStale) holds.
type StaleError struct {
	Path string
	Want Hash
	Have Hash // empty if the file is gone
	Size int64
	// Content is what the file has now, nil if it is gone, larger than MaxStaleContent, or no longer a regular file.
	Content []byte
}

// MaxStaleContent bounds the content carried by a StaleError, in bytes.
const MaxStaleContent = 256 << 10

func (e *StaleError) Error() string {
	if e.Have == "" {
		return fmt.Sprintf("%s is gone, expected content %s; list the directory, then decide again", visible(e.Path), e.Want)
	}
	return fmt.Sprintf("%s has changed: expected content %s, found %s; read it again", visible(e.Path), e.Want, e.Have)
}

// Is matches ErrStale.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// RollbackError says that a change failed and could not be taken back everywhere: Paths have a content that
// is neither what was there before nor (unless a foreign writer put it there) anybody else's.
type RollbackError struct {
	Paths []string
	Cause error // why the change was taken back; nil if the caller asked
	Err   error // why that failed
}

func (e *RollbackError) Error() string {
	text := fmt.Sprintf("could not restore %s: %v", visible(strings.Join(e.Paths, ", ")), e.Err)
	if e.Cause != nil {
		text += fmt.Sprintf(" (after: %v)", e.Cause)
	}
	return text
}

// Unwrap gives both reasons.
func (e *RollbackError) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Err}
	}
	return []error{e.Cause, e.Err}
}

// KeptError says that another program wrote into a file that had just been displaced, and where its content
// is. The change itself stands.
type KeptError struct {
	Path string // the file
	Kept string // where the other program's content is, workspace-relative
}

func (e *KeptError) Error() string {
	return fmt.Sprintf("another program wrote %s at the same moment; its content is kept in %s", visible(e.Path), visible(e.Kept))
}

func pathError(op, path string, err error) error {
	if err == nil {
		return nil
	}
	// A PathError below already names the path for people; ours is workspace-relative.
	var inner *PathError
	var stale *StaleError
	if errors.As(err, &inner) || errors.As(err, &stale) {
		return err
	}
	return &PathError{Op: op, Path: path, Err: translated(err)}
}

// translated maps the system's errors to ours, keeping the system's as text.
func translated(err error) error {
	var system *fs.PathError
	if errors.As(err, &system) {
		err = system.Err // its name is one component only, ours is the whole path
	}
	switch {
	case isAny(err, ErrNotExist, ErrExists, ErrNotRegular, ErrChangedDir, ErrBusy, ErrInvalidPath, ErrOutside, ErrTooLarge, ErrConflict):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotExist
	case errors.Is(err, fs.ErrExist):
		return ErrExists
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%w: too many files are open in this server or on this machine; try again (%w)", ErrBusy, err)
	case errors.Is(err, syscall.ELOOP):
		return fmt.Errorf("%w: a symbolic link took its place", ErrNotRegular)
	}
	return err
}

func isAny(err error, sentinels ...error) bool {
	return slices.ContainsFunc(sentinels, func(sentinel error) bool { return errors.Is(err, sentinel) })
}

// visible quotes a path that has characters which would not show, so that it cannot forge a message, and cuts
// one that would drown it.
func visible(path string) string {
	if len(path) > 2*maxName {
		path = strings.ToValidUTF8(path[:2*maxName], "") + "..."
	}
	if path == "" || strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}
