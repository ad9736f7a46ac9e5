// Package hookdoor is the way from the processes that a client starts (its hooks, and the commands that they let through) to the
// server of their workspace.
//
// It promises that a process of another user is neither heard nor answered, and that of all servers of a workspace one answers.
// It does not promise that it is the client who calls: any process of the same user outside of a sandbox can.
//
// # Files
//
// In $XDG_RUNTIME_DIR/orchestra-mcp, else in orchestra-mcp-<uid> in the directory for temporary files, which must be the user's
// own and closed to others, with the first 16 hexadecimal digits of the SHA-256 of the workspace's path:
//
//	<name>.lock    held (flock) by the server that answers
//	<name>.sock    its socket
//	<name>.token   what a caller has to show, new with each server
//
// # Messages
//
// JSON, one object a line. A caller sends a [Request] and gets a [Reply]; who runs a command keeps the connection until it has
// ended, and ends the command where the server hangs up.
package hookdoor

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Errors that a caller may test for.
var (
	// ErrTaken: another server answers.
	ErrTaken = errors.New("another server answers the hooks of this workspace")
	// ErrNobody: no server answers.
	ErrNobody = errors.New("no server answers the hooks of this workspace")
)

// Request is what a process asks for.
type Request struct {
	Token string `json:"token"`
	// Op is event, begins or ended.
	Op string `json:"op"`
	// Client, Event, Problem, Terminal and Attended are those of a hook.
	Client   string `json:"client,omitempty"`
	Event    []byte `json:"event,omitempty"`
	Problem  string `json:"problem,omitempty"` // why the event cannot be taken, of which Event is the beginning then
	Terminal string `json:"terminal,omitempty"`
	Attended bool   `json:"attended,omitempty"` // a person is there to answer the client
	// Job, ExitCode and Level are of a command; without an ExitCode it was ended.
	Job      string `json:"job,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Level    string `json:"level,omitempty"`
}

// Reply is the answer.
type Reply struct {
	Stdout   []byte `json:"stdout,omitempty"`
	Stderr   []byte `json:"stderr,omitempty"`
	ExitCode int    `json:"exit_code,omitempty"`
	// OK: the command may begin.
	OK bool `json:"ok,omitempty"`
}

// Place is where the servers of a user listen.
type Place struct{ dir string }

// Find finds the user's place, and looks at nothing. environ is asked for XDG_RUNTIME_DIR.
func Find(environ func(string) string) Place {
	if dir := environ("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return Place{filepath.Join(dir, "orchestra-mcp")}
	}
	return Place{filepath.Join(os.TempDir(), "orchestra-mcp-"+strconv.Itoa(os.Getuid()))}
}

// Dir is the directory of the place, which may be missing.
func (p Place) Dir() string { return p.dir }

// check refuses a directory that another user could have made or can write.
func (p Place) check() error {
	info, err := os.Lstat(p.dir)
	if err != nil {
		return err
	}
	if !info.IsDir() || !ownAlone(info) {
		return fmt.Errorf("%s is not a directory of this user that is closed to others: remove it, or set XDG_RUNTIME_DIR", p.dir)
	}
	return nil
}

func (p Place) file(workspace, suffix string) string {
	sum := sha256.Sum256([]byte(workspace))
	return filepath.Join(p.dir, hex.EncodeToString(sum[:8])+suffix)
}

// Listener is the server's end.
type Listener struct {
	net.Listener
	lock  *os.File
	token string
	files []string
	close func() error
}

// Listen becomes the server of a workspace, an absolute path without links. ErrTaken where another one is.
func (p Place) Listen(workspace string) (_ *Listener, err error) {
	if err := os.Mkdir(p.dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the directory for the sockets of hooks: %w", err)
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(p.file(workspace, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Listener{lock: lock, token: rand.Text(), files: []string{p.file(workspace, ".sock"), p.file(workspace, ".token")}}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	if err := p.take(lock, workspace); err != nil {
		return nil, err
	}
	for _, left := range l.files { // by one that was killed
		if err := os.Remove(left); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if err := os.WriteFile(l.files[1], []byte(l.token), 0o600); err != nil {
		return nil, err
	}
	l.Listener, err = net.Listen("unix", l.files[0])
	l.close = sync.OnceValue(func() error {
		err := l.Listener.Close()
		for _, f := range l.files {
			_ = os.Remove(f)
		}
		return errors.Join(err, l.lock.Close())
	})
	return l, err
}

// take locks the place. A lock that nobody answers for is that of a server that is ending or beginning, or of a child that it was
// just making.
func (p Place) take(lock *os.File, workspace string) error {
	const tries, pause = 100, 5 * time.Millisecond
	for range tries {
		free, err := durable.TryLock(lock)
		if err != nil || free {
			return err
		}
		if conn, err := net.Dial("unix", p.file(workspace, ".sock")); err == nil {
			conn.Close()
			break
		}
		time.Sleep(pause)
	}
	return ErrTaken
}

// Close ends it. It has no effect the second time.
func (l *Listener) Close() error { return l.close() }

// Accept waits for a caller who may be heard, and gives what it asks.
func (l *Listener) Accept() (*Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return newConn(conn), nil
}

// Conn is a connection.
type Conn struct {
	net.Conn
	// Pid is of the process that called, once its request was received; 0 where the system does not tell.
	Pid int
	in  *bufio.Reader
}

func newConn(c net.Conn) *Conn { return &Conn{Conn: c, in: bufio.NewReader(c)} }

// maxMessage bounds one message, in bytes: an event of 16 MB in base64.
const maxMessage = 24 << 20

// Receive reads what a caller asks for. The error says that it may not ask.
func (c *Conn) Receive(l *Listener) (r Request, err error) {
	pid, own := peerOf(c.Conn)
	if !own {
		return r, errors.New("a process of another user")
	}
	c.Pid = pid
	if err := c.read(&r); err != nil {
		return r, err
	}
	if subtle.ConstantTimeCompare([]byte(r.Token), []byte(l.token)) != 1 {
		return r, errors.New("the token is another")
	}
	return r, nil
}

// Send writes a message.
func (c *Conn) Send(message any) error {
	text, err := json.Marshal(message)
	if err == nil {
		_, err = c.Write(append(text, '\n'))
	}
	return err
}

// HangUp tells the other end to come to its own, and hears it for a time.
func (c *Conn) HangUp(patience time.Duration) {
	_ = c.SetReadDeadline(time.Now().Add(patience))
	if u, is := c.Conn.(*net.UnixConn); is && u.CloseWrite() == nil {
		return
	}
	_ = c.Close()
}

func (c *Conn) read(into any) error {
	var text []byte
	for {
		part, err := c.in.ReadSlice('\n')
		if text = append(text, part...); err == nil {
			return json.Unmarshal(text, into)
		}
		if !errors.Is(err, bufio.ErrBufferFull) || len(text) > maxMessage {
			return err
		}
	}
}

// Dial reaches the server of a workspace. ErrNobody where there is none.
func (p Place) Dial(workspace string) (*Caller, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	conn, err := net.Dial("unix", p.file(workspace, ".sock"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	token, err := durable.ReadRegular(p.file(workspace, ".token"), 1<<10)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	return &Caller{newConn(conn), strings.TrimSpace(string(token))}, nil
}

// Caller is a process's end.
type Caller struct {
	*Conn
	token string
}

// Ask sends a request, and waits for the answer.
func (c *Caller) Ask(r Request) (reply Reply, err error) {
	r.Token = c.token
	if err := c.Send(r); err != nil {
		return reply, err
	}
	return reply, c.read(&reply)
}

// Tell sends a request that has no answer.
func (c *Caller) Tell(r Request) error {
	r.Token = c.token
	return c.Send(r)
}

// Bound ends the connection's patience at a time.
func (c *Caller) Bound(at time.Time) error { return c.SetDeadline(at) }
