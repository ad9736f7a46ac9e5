package probes

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Variable is the environment variable that has a program run the probes: its value is a World.
const Variable = "ORCHESTRA_SANDBOX_PROBES"

// World is what the probes act on. What a profile needs to know of it stands in its fields and methods.
type World struct {
	// Base holds everything. Root is the workspace in it, Out what lies beside that, Temp the command's private directory.
	Base, Root, Out, Temp string
	// Network: the sandbox lets the command connect.
	Network bool
	// Folds: the file system takes names in another letter case for the same.
	Folds bool
	// KeyByNumber and ConfigByNumber are other names of a hidden file and a closed one, "" where the system has none.
	KeyByNumber, ConfigByNumber string
	// TCP and UDP are addresses, Unix a socket, on which somebody outside listens. What comes by UDP is sent back.
	TCP, UDP, Unix string
	// Victim is a process outside, which has Mark in its environment.
	Victim int
	// Only are the probes to run; none is all.
	Only []string
}

// Mark is a secret in the environment of World.Victim.
const Mark = "ORCHESTRA_PROBED=a-secret-of-another-process"

// secret is what hidden files say.
const secret = "a secret\n"

// rootName has what could end a string, a list or an expression, in an encoding of several bytes.
const rootName = `w "(\ ü)`

// Make builds a world in a directory, an absolute path without links, in which there is nothing yet.
func Make(base string) (World, error) {
	w := World{Base: base, Root: filepath.Join(base, rootName), Out: filepath.Join(base, "out"), Temp: filepath.Join(base, "temp")}
	for _, dir := range []string{w.Root, w.Out, w.Temp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return w, err
		}
	}
	for _, dir := range []string{
		".git/hooks", ".git/refs", ".git/empty", ".orchestration/state", ".Editor", "src/inner/deep", "src/dir", "other/build", "private", "empty",
	} {
		if err := os.MkdirAll(w.In(dir), 0o700); err != nil {
			return w, err
		}
	}
	for name, content := range map[string]string{
		w.In(".git/HEAD"): "ref: refs/heads/main\n", w.In(".git/config"): "[core]\n", w.In(".orchestration/config.yaml"): "a: b\n",
		w.In(".orchestration/state/session"): secret, w.In(".Editor/tasks.json"): "{}\n",
		w.In("src/a.txt"): "a\n", w.In("src/inner/deep/frozen.txt"): "frozen\n", w.In("src/inner/free.txt"): "free\n", w.In("src/dir/b.txt"): "b\n",
		w.In("other/c.txt"): "c\n", w.In("other/one.txt"): "one\n", w.In("secret.env"): secret, w.In("private/key"): secret,
		filepath.Join(w.Out, "file"): "out\n",
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			return w, err
		}
	}
	if err := os.Symlink(w.Out, w.In("other/link")); err != nil {
		return w, err
	}
	_, err := os.Lstat(w.In(".ORCHESTRATION"))
	w.Folds = err == nil
	w.KeyByNumber, w.ConfigByNumber = byNumber(w.In("private/key")), byNumber(w.In(".git/config"))
	return w, nil
}

// In is a path in the workspace.
func (w *World) In(name string) string { return filepath.Join(w.Root, filepath.FromSlash(name)) }

// Writable are what the command may change: the workspace, and what is again open in what is not.
func (w *World) Writable() []string { return w.all("", "other/build", "other/one.txt") }

// Frozen are what stays, existing directories and files, and Absent and AbsentDirs what may not come into being.
func (w *World) Frozen() []string {
	return w.all(".git/hooks", ".git/config", ".orchestration", ".Editor", "src/inner/deep/frozen.txt", "other")
}

// Absent are files that may not come into being.
func (w *World) Absent() []string { return w.all(".git/commondir", ".mcp.json") }

// AbsentDirs are directories that may not come into being.
func (w *World) AbsentDirs() []string { return w.all(".git/modules", ".tasks") }

// Hidden are a file and a directory that cannot be read; Emptied are directories of which no file can.
func (w *World) Hidden() []string { return w.all("secret.env", "private") }

// Emptied are directories of which no file can be read.
func (w *World) Emptied() []string { return w.all(".orchestration/state") }

func (w *World) all(names ...string) (paths []string) {
	for _, name := range names {
		paths = append(paths, w.In(name))
	}
	return paths
}

// environment is that of the program that is to run the probes. What HOME and PATH name a sandbox leaves where it is.
func (w *World) environment(program string) []string {
	encoded, _ := json.Marshal(w) // strings and numbers alone
	return []string{Variable + "=" + string(encoded), "TMPDIR=" + w.Temp, "HOME=" + w.Base, "PATH=/usr/bin:/bin:" + filepath.Dir(program)}
}

// Listen opens what the probes try to reach, until close is called.
func (w *World) Listen() (close func(), err error) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		tcp.Close()
		return nil, err
	}
	w.TCP, w.UDP, w.Unix = tcp.Addr().String(), udp.LocalAddr().String(), filepath.Join(w.Out, "s")
	unix, err := net.Listen("unix", w.Unix)
	if err != nil {
		tcp.Close()
		udp.Close()
		return nil, fmt.Errorf("%w (is the path of the temporary directory too long for a socket?)", err)
	}
	go echo(udp)
	return func() {
		tcp.Close()
		udp.Close()
		unix.Close()
	}, nil
}

// echo sends back what comes, until c is closed.
func echo(c net.PacketConn) {
	for b := make([]byte, 1); ; {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			return
		}
		_, _ = c.WriteTo(b[:n], from)
	}
}

// State is everything that the command cannot change: paths with what is there.
func (w *World) State() map[string]string {
	state := map[string]string{}
	for _, dir := range []string{w.Out, w.Root} {
		filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				state[path] = err.Error()
				return nil
			}
			if w.free(path) {
				return nil
			}
			info, err := e.Info()
			if err != nil {
				state[path] = err.Error()
				return nil
			}
			state[path] = info.Mode().String()
			if info.Mode().IsRegular() {
				content, err := durable.ReadRegular(path, maxReport)
				state[path] += fmt.Sprintf(" %s %q %v", info.ModTime(), content, err)
			}
			return nil
		})
	}
	return state
}

// free reports whether the command may change what is at a path, its metadata included.
func (w *World) free(path string) bool {
	open := false
	deepest := ""
	decide := func(paths []string, is bool) {
		for _, p := range paths {
			if (path == p || strings.HasPrefix(path, p+"/")) && len(p) >= len(deepest) {
				deepest, open = p, is
			}
		}
	}
	decide(w.Writable(), true)
	for _, held := range [][]string{w.Frozen(), w.Absent(), w.AbsentDirs(), w.Hidden(), w.Emptied()} {
		decide(held, false)
	}
	// Directories that something held is in stay, and so does what is writable itself, but their times change.
	for _, held := range slices.Concat(w.Frozen(), w.Hidden()) {
		if strings.HasPrefix(held, path+"/") {
			return false
		}
	}
	return open
}

// changed says what differs between two states.
func changed(before, after map[string]string) (what []string) {
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if after[path] != before[path] {
			what = append(what, fmt.Sprintf("%q was %s and is %s", path, before[path], after[path]))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(after)) {
		if _, was := before[path]; !was {
			what = append(what, fmt.Sprintf("%q has come into being", path))
		}
	}
	return what
}
