// Package presence tells which servers of a workspace are alive, and which workspaces a user has.
//
// A server that serves a client has a file in .orchestration/state/servers/, locked (flock) for the life of the process:
// the kernel gives the lock back however the process ends. It also notes the workspace in the user's directory.
//
// A console has such a file in the user's directory.
//
//	.orchestration/state/servers/ID.json   {"id":…,"pid":…,"place":…,"transport":"stdio","address":"","version":…,"started_at":…}
//	<user directory>/workspaces/<16 hex>   the workspace's absolute path and a newline; the name is from its SHA-256
//
// Nothing depends on these files but what people are shown: who can write state/ can forge or remove them. Where the
// system has no file locks, a server counts as alive while its process id is taken.
package presence

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/privatefile"
)

const (
	dirName       = "servers"
	suffix        = ".json"
	workspacesDir = "workspaces"
	maxSize       = 4 << 10
	maxListed     = 1000
)

// Server is one server process of a workspace.
type Server struct {
	ID        string    `json:"id"`
	PID       int       `json:"pid"`
	Place     string    `json:"place,omitempty"` // the boot and the pid namespace of PID, see durable.Place
	Transport string    `json:"transport"`       // stdio, http, sse or console
	Address   string    `json:"address,omitempty"`
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
}

// NewID makes the id of a server.
func NewID() string {
	var raw [8]byte
	_, _ = rand.Read(raw[:]) // never fails
	return fmt.Sprintf("%d-%s", os.Getpid(), hex.EncodeToString(raw[:]))
}

// Mark is the file of this process.
type Mark struct {
	dir  *os.Root
	name string
	file *os.File
}

// Register marks this process as a server of the workspace, and sweeps the marks of those that are gone.
func Register(state *os.Root, s Server) (*Mark, error) {
	dir, err := durable.OpenOwn(state, dirName, 0o700)
	if err != nil {
		return nil, err
	}
	sweep(dir)
	s.PID, s.Place = os.Getpid(), durable.Place()
	m := &Mark{dir: dir, name: s.ID + suffix}
	if err := m.write(s); err != nil {
		m.Remove()
		return nil, err
	}
	return m, nil
}

func (m *Mark) write(s Server) (err error) {
	if m.file, err = m.dir.OpenFile(m.name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if _, err := durable.TryLock(m.file); err != nil && !errors.Is(err, durable.ErrUnsupported) {
		return err
	}
	content, err := json.Marshal(s)
	if err == nil {
		_, err = m.file.Write(append(content, '\n'))
	}
	return err
}

// Remove takes the mark away. It is for a nil Mark too.
func (m *Mark) Remove() {
	if m == nil {
		return
	}
	_ = m.dir.Remove(m.name)
	if m.file != nil {
		m.file.Close()
	}
	m.dir.Close()
}

// Servers lists the servers that are alive, by their start. It changes nothing.
func Servers(state *os.Root) ([]Server, error) {
	dir, err := durable.OpenOwn(state, dirName, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var found []Server
	for _, name := range names(dir) {
		if s, alive := look(dir, name); alive {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b Server) int { return a.StartedAt.Compare(b.StartedAt) })
	return found, nil
}

func names(dir *os.Root) []string {
	at, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer at.Close()
	all, _ := at.Readdirnames(maxListed)
	return slices.DeleteFunc(all, func(name string) bool { return !strings.HasSuffix(name, suffix) })
}

// look reads a mark. One that is just being written counts as no server yet.
func look(dir *os.Root, name string) (Server, bool) {
	var s Server
	file, _, err := durable.OpenRegularIn(dir, name, os.O_RDWR)
	if err != nil {
		return s, false
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxSize))
	if err != nil || json.Unmarshal(content, &s) != nil {
		return s, false
	}
	if durable.Left(s.PID, s.Place) {
		return s, false
	}
	free, err := durable.TryLock(file)
	if errors.Is(err, durable.ErrUnsupported) {
		return s, !durable.Gone(s.PID)
	}
	return s, err == nil && !free
}

func sweep(dir *os.Root) {
	for _, name := range names(dir) {
		info, err := dir.Lstat(name)
		if err != nil || time.Since(info.ModTime()) < time.Minute { // it may be being written
			continue
		}
		if _, alive := look(dir, name); !alive {
			_ = dir.Remove(name)
		}
	}
}

// Name is a short name for a workspace: 16 hexadecimal digits of its path's SHA-256.
func Name(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return hex.EncodeToString(sum[:8])
}

// Remember notes a workspace for its user.
func Remember(userDir, workspace string) error {
	name := filepath.Join(userDir, workspacesDir, Name(workspace))
	if _, err := os.Lstat(name); err == nil {
		return nil
	}
	return privatefile.Create(name, workspace+"\n")
}

// Workspaces lists the workspaces that were noted and that are still there, by path. One that is gone is forgotten.
func Workspaces(userDir string) ([]string, error) {
	dir := filepath.Join(userDir, workspacesDir)
	entries, err := durable.ReadDirectory(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		content, err := privatefile.Read(name)
		if err != nil {
			continue
		}
		workspace := strings.TrimSuffix(string(content), "\n")
		switch _, err := os.Stat(filepath.Join(workspace, ".orchestration")); {
		case errors.Is(err, fs.ErrNotExist):
			_ = os.Remove(name)
		case err == nil && filepath.IsAbs(workspace):
			found = append(found, workspace)
		}
	}
	slices.Sort(found)
	return found, nil
}
