// Package demo plays an agent's work on a real repository through the real server, so that a newcomer sees in one
// command what governance does, and a developer sees in one command whether it does it.
//
// Everything is real: a git repository made from an embedded project, and the program itself, started as `serve` and
// spoken to over its standard input and output as clients do. Run fails if anything comes back that is not what should.
package demo

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

//go:embed project intents.yaml
var files embed.FS

// Options say where the demo runs.
type Options struct {
	// Executable is the orchestra-mcp program that is started as the server.
	Executable string
	// Dir is where the workspace is made; it must not exist or be empty. "" is a temporary directory that is removed
	// at the end.
	Dir string
	// Out gets the report.
	Out io.Writer
	// Errors gets the server's log.
	Errors io.Writer
	// Bold marks a heading; nil leaves it plain.
	Bold func(string) string
}

// ErrDiffers says that something came back that should not have.
var ErrDiffers = errors.New("the demo did not go as it should")

// Run plays the demo.
func Run(ctx context.Context, o Options) (err error) {
	if o.Bold == nil {
		o.Bold = func(s string) string { return s }
	}
	dir, remove, err := workspaceDir(o.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	p := &play{Options: o, ctx: ctx, dir: dir}
	if err := p.makeRepository(); err != nil {
		return err
	}
	if err := p.connect(); err != nil {
		return err
	}
	p.agentsDay()
	p.failed = errors.Join(p.failed, p.server.close())
	p.aftermath()
	if p.failed != nil {
		return fmt.Errorf("%w: %w", ErrDiffers, p.failed)
	}
	p.heading("Done: everything came back as it should.")
	if o.Dir != "" {
		p.say("The workspace is in %s.", dir)
	}
	return nil
}

func workspaceDir(dir string) (string, func() error, error) {
	if dir == "" {
		temporary, err := os.MkdirTemp("", "orchestra-demo-")
		return temporary, func() error { return os.RemoveAll(temporary) }, err
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = os.MkdirAll(dir, 0o755)
	case err == nil && len(entries) > 0:
		err = fmt.Errorf("%s is not empty; name a new directory", dir)
	}
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	return dir, func() error { return nil }, err
}

// play is one run of the demo.
type play struct {
	Options
	ctx    context.Context
	dir    string
	server *server
	// session is the handle that the agent passes on.
	session string
	failed  error
}

// makeRepository writes the project and commits it, as the operator would have.
func (p *play) makeRepository() error {
	p.heading("A repository with two declared intents")
	project, err := fs.Sub(files, "project")
	if err != nil {
		return err
	}
	if err := os.CopyFS(p.dir, project); err != nil {
		return fmt.Errorf("write the project: %w", err)
	}
	intents, err := files.ReadFile("intents.yaml")
	if err != nil {
		return err
	}
	if err := p.write(".orchestration/active_intents.yaml", string(intents)); err != nil {
		return err
	}
	if err := p.write(".orchestration/.gitignore", "state/\ncache/\n"); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "."},
		{"-c", "user.name=Operator", "-c", "user.email=operator@example.org", "commit", "-q", "-m", "Weather report"},
	} {
		if out, err := p.git(args...); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, out)
		}
	}
	p.say("INT-001 owns src/** and tests/**, INT-002 owns docs/**.")
	return nil
}

func (p *play) write(name, content string) error {
	path := filepath.Join(p.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(content), 0o644)
}

// git runs git as on a machine without the user's own configuration.
func (p *play) git(args ...string) (string, error) {
	cmd := exec.CommandContext(p.ctx, "git", args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// server is the program as its client sees it: a JSON-RPC message a line.
type server struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	last int
}

// connect starts the server as a client would.
func (p *play) connect() error {
	cmd := exec.CommandContext(p.ctx, p.Executable, "serve", "--workspace", p.dir)
	cmd.Stderr = p.Errors
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	p.server = &server{cmd: cmd, in: in, out: json.NewDecoder(out)}
	hello := args{"protocolVersion": "2025-11-25", "capabilities": args{}, "clientInfo": args{"name": "orchestra-demo", "version": "1"}}
	if err := p.server.request("initialize", hello, nil); err != nil {
		return fmt.Errorf("start the server: %w", errors.Join(err, p.server.close()))
	}
	return p.server.send(args{"method": "notifications/initialized"})
}

func (s *server) send(message args) error {
	message["jsonrpc"] = "2.0"
	return json.NewEncoder(s.in).Encode(message)
}

// request asks for something and reads the answer to it; what the server says meanwhile is passed over.
func (s *server) request(method string, params args, result any) error {
	s.last++
	if err := s.send(args{"id": s.last, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		var answer struct {
			ID     int
			Error  *struct{ Message string }
			Result json.RawMessage
		}
		switch err := s.out.Decode(&answer); {
		case err != nil:
			return fmt.Errorf("read the answer to %s: %w", method, err)
		case answer.ID != s.last:
		case answer.Error != nil:
			return errors.New(answer.Error.Message)
		case result != nil:
			return json.Unmarshal(answer.Result, result)
		default:
			return nil
		}
	}
}

// close ends the server's input, at which it ends; one that does not is killed.
func (s *server) close() error {
	kill := time.AfterFunc(5*time.Second, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	return errors.Join(s.in.Close(), s.cmd.Wait())
}

func (p *play) heading(text string) { fmt.Fprintf(p.Out, "\n%s\n", p.Bold("== "+text)) }

func (p *play) say(format string, args ...any) { fmt.Fprintf(p.Out, "   "+format+"\n", args...) }

// block prints a longer text, indented and cut.
func (p *play) block(text string, most int) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if i == most {
			p.say("   … %d more lines", len(lines)-i)
			return
		}
		p.say("   %s", line)
	}
}

// expect notes a difference and goes on, so that one report shows all.
func (p *play) expect(ok bool, format string, args ...any) {
	if ok {
		return
	}
	err := fmt.Errorf(format, args...)
	p.say("!! %v", err)
	p.failed = errors.Join(p.failed, err)
}
