package probes

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// Probe is one thing to try, from inside.
type Probe struct {
	Name string
	// Must: it has to work. Else it must not.
	Must bool
	// Do does it, and returns nil where it was done.
	Do func(w *World) error
}

// errDiffers: it went through, and what came of it is something else.
var errDiffers = errors.New("what was read is something else")

// Table has the probes for a world.
func Table(w *World) []Probe {
	all := append(allowed(), network(w.Network)...)
	all = append(all, files()...)
	all = append(all, moves()...)
	all = append(all, reads()...)
	all = append(all, otherNames(w)...)
	all = append(all, clones()...)
	all = append(all, others()...)
	if w.Folds {
		all = append(all, foldings()...)
	}
	return all
}

func must(name string, do func(w *World) error) Probe    { return Probe{name, true, do} }
func mustNot(name string, do func(w *World) error) Probe { return Probe{name, false, do} }

// allowed are what a command lives on.
func allowed() []Probe {
	return []Probe{
		must("start a program", func(*World) error { return exec.Command("/bin/sh", "-c", "exit 0").Run() }),
		must("signal its own", func(*World) error {
			cmd := exec.Command("/bin/sh", "-c", "read line")
			in, err := cmd.StdinPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				return err
			}
			err = kill(cmd.Process.Pid)
			in.Close()
			cmd.Wait()
			return err
		}),
		must("use the null device", func(*World) error { return write(os.DevNull, "x") }),
		must("make a temporary file", func(w *World) error { return write(filepath.Join(w.Temp, "t"), "x") }),
		must("read out of scope", func(w *World) error { return read(filepath.Join(w.Out, "file"), "out\n") }),
		must("make a file in scope", func(w *World) error { return write(w.In("src/new.txt"), "new\n") }),
		must("change it", func(w *World) error { return write(w.In("src/new.txt"), "newer\n") }),
		must("change its mode", func(w *World) error { return os.Chmod(w.In("src/new.txt"), 0o755) }),
		must("rename it", func(w *World) error { return os.Rename(w.In("src/new.txt"), w.In("src/dir/new.txt")) }),
		must("remove it", func(w *World) error { return os.Remove(w.In("src/dir/new.txt")) }),
		must("make a directory in scope", func(w *World) error { return os.MkdirAll(w.In("src/made/deep"), 0o700) }),
		must("rename a directory", func(w *World) error { return os.Rename(w.In("src/made"), w.In("src/renamed")) }),
		must("make an entry at the top", func(w *World) error { return write(w.In("new.txt"), "x") }),
		must("make a hidden entry at the top", func(w *World) error { return write(w.In(".tool"), "x") }),
		must("make an entry at the top that is not ASCII", func(w *World) error { return write(w.In("ü.txt"), "x") }),
		must("write what git writes", func(w *World) error {
			return errors.Join(write(w.In(".git/index.lock"), "x"), os.Rename(w.In(".git/index.lock"), w.In(".git/index")), write(w.In(".git/refs/new"), "x"))
		}),
		must("write a place below what is closed", func(w *World) error { return write(w.In("other/build/out"), "x") }),
		must("change a file below what is closed", func(w *World) error { return write(w.In("other/one.txt"), "changed\n") }),
	}
}

func network(allowed bool) []Probe {
	all := []Probe{
		{"connect by TCP", allowed, func(w *World) error { return connect("tcp", w.TCP) }},
		{"get an answer by UDP", allowed, func(w *World) error { return answered(w.UDP) }},
	}
	if allowed { // else it may listen where nobody reaches it
		all = append(all, must("listen by TCP", func(*World) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			return l.Close()
		}))
	}
	return all
}

func files() []Probe {
	return []Probe{
		mustNot("change a file outside", func(w *World) error { return write(filepath.Join(w.Out, "file"), "x") }),
		mustNot("make a file outside", func(w *World) error { return write(filepath.Join(w.Out, "new"), "x") }),
		mustNot("make a file beside the workspace", func(w *World) error { return write(filepath.Join(w.Base, "new"), "x") }),
		mustNot("remove a file outside", func(w *World) error { return os.Remove(filepath.Join(w.Out, "file")) }),
		mustNot("empty a file outside", func(w *World) error { return os.Truncate(filepath.Join(w.Out, "file"), 0) }),
		mustNot("change the mode of a file outside", func(w *World) error { return os.Chmod(filepath.Join(w.Out, "file"), 0o777) }),
		mustNot("write through a link", func(w *World) error { return write(w.In("other/link/file"), "x") }),
		mustNot("write through a link of its own", func(w *World) error {
			return errors.Join(os.Symlink(w.Out, w.In("src/out")), write(w.In("src/out/file"), "x"))
		}),
		mustNot("change the governance", func(w *World) error { return write(w.In(".orchestration/config.yaml"), "x") }),
		mustNot("add to the governance", func(w *World) error { return write(w.In(".orchestration/new"), "x") }),
		mustNot("make a hook", func(w *World) error { return write(w.In(".git/hooks/pre-commit"), "x") }),
		mustNot("change git's configuration", func(w *World) error { return write(w.In(".git/config"), "x") }),
		mustNot("make what git must not have", func(w *World) error { return write(w.In(".git/commondir"), "x") }),
		mustNot("make a directory that git must not have", func(w *World) error { return os.MkdirAll(w.In(".git/modules/x"), 0o700) }),
		mustNot("make what must not be", func(w *World) error { return write(w.In(".mcp.json"), "x") }),
		mustNot("make a directory that must not be", func(w *World) error { return os.Mkdir(w.In(".tasks"), 0o700) }),
		mustNot("make a link that must not be", func(w *World) error { return os.Symlink("src", w.In(".tasks")) }),
		mustNot("change what is closed", func(w *World) error { return write(w.In("other/c.txt"), "x") }),
		mustNot("make something in what is closed", func(w *World) error { return write(w.In("other/new"), "x") }),
		mustNot("change a closed file", func(w *World) error { return write(w.In("src/inner/deep/frozen.txt"), "x") }),
		mustNot("change the mode of a closed file", func(w *World) error { return os.Chmod(w.In(".git/config"), 0o666) }),
		mustNot("change the times of a closed file", func(w *World) error {
			return os.Chtimes(w.In(".git/config"), time.Time{}, time.Unix(1, 0))
		}),
		mustNot("remove a closed file", func(w *World) error { return os.Remove(w.In(".git/config")) }),
		mustNot("remove a closed directory", func(w *World) error { return os.RemoveAll(w.In(".git/hooks")) }),
	}
}

// moves are what a name can be given by another way than by opening it.
func moves() []Probe {
	rename := func(from, to string) func(w *World) error {
		return func(w *World) error { return os.Rename(w.In(from), w.In(to)) }
	}
	return []Probe{
		mustNot("rename over a closed file", rename("src/a.txt", ".git/config")),
		mustNot("rename to what must not be", rename("src/a.txt", ".mcp.json")),
		mustNot("rename a directory to what must not be", rename("src/dir", ".tasks")),
		mustNot("rename a directory to what git must not have", rename("src/dir", ".git/modules")),
		mustNot("rename a closed directory", rename(".orchestration", "moved")),
		mustNot("rename a closed file", rename(".git/config", "moved")),
		mustNot("rename the directory of a closed one", rename(".git", "moved")),
		mustNot("rename a directory above a closed file", rename("src/inner", "moved")),
		mustNot("rename the directory of a closed file", rename("src/inner/deep", "src/moved")),
		mustNot("rename a place below what is closed", rename("other/build", "moved")),
		mustNot("rename a hidden file", rename("secret.env", "moved")),
		mustNot("rename a hidden directory", rename("private", "moved")),
		mustNot("rename a file out of scope", func(w *World) error { return os.Rename(w.In("src/a.txt"), filepath.Join(w.Out, "moved")) }),
		mustNot("rename a file into scope", func(w *World) error { return os.Rename(filepath.Join(w.Out, "file"), w.In("src/moved")) }),
		mustNot("rename the workspace", func(w *World) error { return os.Rename(w.Root, filepath.Join(w.Base, "moved")) }),
		mustNot("exchange with a closed file", func(w *World) error { return exchange(w.In("src/a.txt"), w.In(".git/config")) }),
		mustNot("exchange with a closed directory", func(w *World) error { return exchange(w.In("src/dir"), w.In(".orchestration")) }),
		mustNot("write a hard link to a file outside", func(w *World) error { return linked(filepath.Join(w.Out, "file"), w.In("src/linked")) }),
		mustNot("write a hard link to a closed file", func(w *World) error { return linked(w.In(".git/config"), w.In("src/linked")) }),
		mustNot("link to what must not be", func(w *World) error { return os.Link(w.In("src/a.txt"), w.In(".mcp.json")) }),
	}
}

// reads are ways to what is hidden.
func reads() []Probe {
	return []Probe{
		mustNot("read a hidden file", func(w *World) error { return read(w.In("secret.env"), secret) }),
		mustNot("read in a hidden directory", func(w *World) error { return read(w.In("private/key"), secret) }),
		mustNot("read the state", func(w *World) error { return read(w.In(".orchestration/state/session"), secret) }),
		mustNot("change a hidden file", func(w *World) error { return write(w.In("secret.env"), "x") }),
		mustNot("read a hidden file by a link", func(w *World) error {
			return errors.Join(os.Symlink(w.In("private"), w.In("src/way")), read(w.In("src/way/key"), secret))
		}),
		mustNot("read a hidden file by a hard link", func(w *World) error {
			return errors.Join(os.Link(w.In("secret.env"), w.In("src/name")), read(w.In("src/name"), secret))
		}),
	}
}

// otherNames are names that the system has for what has a usual one.
func otherNames(w *World) (all []Probe) {
	if w.KeyByNumber != "" {
		all = append(all,
			mustNot("read a hidden file by its number", func(w *World) error { return read(w.KeyByNumber, secret) }),
			mustNot("change a closed file by its number", func(w *World) error { return write(w.ConfigByNumber, "x") }),
		)
	}
	for _, root := range otherRoots() {
		all = append(all,
			mustNot("read a hidden file below "+root, func(w *World) error { return read(root+w.In("private/key"), secret) }),
			mustNot("change a closed file below "+root, func(w *World) error { return write(root+w.In(".git/config"), "x") }),
			mustNot("make what must not be below "+root, func(w *World) error { return write(root+w.In(".mcp.json"), "x") }),
		)
	}
	return all
}

// others are other processes.
func others() []Probe {
	all := []Probe{
		mustNot("connect to a Unix socket outside", func(w *World) error { return connect("unix", w.Unix) }),
		mustNot("read the environment of a process outside", func(w *World) error {
			content, err := environment(w.Victim)
			if err == nil && !bytes.Contains(content, []byte(Mark)) {
				err = errDiffers
			}
			return err
		}),
	}
	all = append(all, daemons()...)
	// The last, for without a sandbox nobody is left for the others.
	return append(all, mustNot("kill a process outside", func(w *World) error {
		if w.Victim <= 1 || w.Victim == os.Getpid() {
			return errors.New("it has no number here")
		}
		return kill(w.Victim)
	}))
}

// foldings are names in other letter case, or with a character that is another in it.
func foldings() []Probe {
	return []Probe{
		mustNot("change the governance in another case", func(w *World) error { return write(w.In(".ORCHESTRATION/Config.yaml"), "x") }),
		mustNot("make a hook in another case", func(w *World) error { return write(w.In(".GIT/Hooks/pre-commit"), "x") }),
		mustNot("change git's configuration in another case", func(w *World) error { return write(w.In(".Git/CONFIG"), "x") }),
		mustNot("make what git must not have in another case", func(w *World) error { return write(w.In(".git/CommonDir"), "x") }),
		mustNot("make what must not be in another case", func(w *World) error { return write(w.In(".MCP.Json"), "x") }),
		mustNot("make a directory that must not be in another case", func(w *World) error { return os.Mkdir(w.In(".Tasks"), 0o700) }),
		mustNot("make what must not be with a long s", func(w *World) error { return os.Mkdir(w.In(".taſks"), 0o700) }),
		mustNot("make what must not be with a Kelvin sign", func(w *World) error { return os.Mkdir(w.In(".tas\u212as"), 0o700) }),
		mustNot("make what git must not have with a long s", func(w *World) error { return os.Mkdir(w.In(".git/moduleſ"), 0o700) }),
		mustNot("rename to what must not be in another case", func(w *World) error { return os.Rename(w.In("src/dir"), w.In(".TASKS")) }),
		mustNot("rename a closed directory to another case", func(w *World) error { return os.Rename(w.In(".orchestration"), w.In(".Orchestration")) }),
		mustNot("rename a closed directory in another case", func(w *World) error { return os.Rename(w.In(".EDITOR"), w.In("moved")) }),
		mustNot("read a hidden file in another case", func(w *World) error { return read(w.In("SECRET.env"), secret) }),
		mustNot("read in a hidden directory in another case", func(w *World) error { return read(w.In("Private/KEY"), secret) }),
	}
}

func write(path, content string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, content)
	return errors.Join(err, f.Close())
}

func read(path, want string) error {
	content, err := durable.ReadRegular(path, maxReport)
	if err == nil && string(content) != want {
		err = errDiffers
	}
	return err
}

// linked writes a file by a name of the command's own.
func linked(from, to string) error { return errors.Join(os.Link(from, to), write(to, "x")) }

func connect(network, address string) error {
	c, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return err
	}
	return c.Close()
}

// answered sends a datagram, and waits for what comes back.
func answered(address string) error {
	c, err := net.DialTimeout("udp", address, 5*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	return errors.Join(c.SetDeadline(time.Now().Add(5*time.Second)), exchanged(c))
}

func exchanged(c net.Conn) error {
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	_, err := c.Read(make([]byte, 1))
	return err
}

// job is how the jobs of probes are called that a daemon was asked to run.
func job() string { return fmt.Sprintf("orchestra-mcp.probe.%s", strconv.Itoa(os.Getpid())) }
