package fleet

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/command"
	"github.com/intentgov/orchestra-mcp/pkg/command/profile"
	"github.com/intentgov/orchestra-mcp/pkg/command/sandbox"
)

// process is the program of a server.
type process struct {
	service  *command.Service
	level    sandbox.Level
	warnings []string
	printed  *tail
	gone     chan struct{} // closed when nothing of it is left and all that it printed was read
}

// lastWords is how long what a program has printed is read after its end.
const lastWords = 500 * time.Millisecond

// launch starts the program of a server.
func (s *server) launch(secrets []secret) (*process, error) {
	o := &s.fleet.o
	if o.Runner == nil {
		return nil, command.ErrUnsupported
	}
	level, err := o.Sandbox.Level()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHeld, err)
	}
	made, data, err := s.confine(level)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrHeld, err)
	}
	p, err := s.serve(made, data, secrets)
	if err != nil {
		return nil, errors.Join(err, made.Close())
	}
	return p, nil
}

// serve starts the program in a profile, which is closed when nothing is left of it.
func (s *server) serve(made *profile.Profile, data string, secrets []secret) (*process, error) {
	around := s.fleet.o.surroundings()
	env := around.environment(made, s.def.Env, entries(secrets))
	argv := around.expandAll(s.def.Command)
	program, err := around.find(argv[0], lookup(env, "PATH"))
	if err != nil {
		return nil, err
	}
	argv[0] = program
	dir, err := durable.OpenDirectory(data)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	service, err := s.fleet.o.Runner.Serve(command.Spec{Program: argv, Dir: dir, Env: env, Level: made.Level, Profile: made.Sandbox})
	if err != nil {
		return nil, err
	}
	p := &process{service: service, level: made.Level, warnings: slices.Clone(made.Warnings), printed: &tail{hide: hider(secrets)}, gone: make(chan struct{})}
	if around.inWorkspace(program) {
		p.warnings = append(p.warnings, "The program of the server lies in the workspace, where an agent can change it.")
	}
	if made.Sandbox == nil {
		p.warnings = append(p.warnings, "Nothing holds the server: it can read and write all that you can.")
	}
	if why := s.fleet.o.Sandbox.NoSeatbelt(); why != nil {
		p.warnings = append(p.warnings, fmt.Sprintf("The settings want level seatbelt, which is not to be had: %v.", why))
	}
	go func() {
		<-service.Done()
		_ = service.Errors.SetReadDeadline(time.Now().Add(lastWords)) // what could not be killed may hold it open
	}()
	go func() {
		defer close(p.gone)
		p.printed.readFrom(service.Errors)
		<-service.Done()
		if err := made.Close(); err != nil {
			s.log.Warn().Err(err).Msg("what was made for a server could not be removed")
		}
	}()
	return p, nil
}

// confine makes the directories and the profile of the program.
func (s *server) confine(level sandbox.Level) (made *profile.Profile, data string, err error) {
	o := &s.fleet.o
	own, hidden, err := s.fleet.directories(s.def.Name)
	if err != nil {
		return nil, "", err
	}
	request := profile.Server{
		Level: level, Data: filepath.Join(own, "data"), Caches: filepath.Join(own, "cache"),
		Writable: o.surroundings().expandAll(s.def.Writable), Workspace: s.def.Writes, Hidden: hidden,
	}
	if o.Rules != nil {
		if request.Rules, err = o.Rules(); err != nil {
			return nil, "", err
		}
	}
	for _, dir := range []string{request.Data, request.Caches} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, "", err
		}
	}
	made, err = o.Profiles.Serve(request)
	return made, request.Data, err
}

// Directory is below which all programs of the user's workspaces have their data and their caches. Commands must not read it.
func Directory(environ []string) string {
	return filepath.Join(profile.CacheDir(environ), "servers")
}

// placeOf is where the program of a server has them.
func (f *Fleet) placeOf(name string) string {
	return filepath.Join(Directory(f.o.Environ), digest(f.o.Workspace, 16), name)
}

// directories makes those of all programs, and returns that of one, with what it must not read: the others', of other workspaces too.
func (f *Fleet) directories(name string) (own string, hidden []string, err error) {
	if profile.CacheDir(f.o.Environ) == "" {
		return "", nil, errors.New("neither XDG_CACHE_HOME nor HOME names a directory for its data")
	}
	workspace := filepath.Dir(f.placeOf(name))
	for _, s := range f.servers {
		if err := os.MkdirAll(filepath.Join(workspace, s.def.Name), 0o700); err != nil {
			return "", nil, err
		}
	}
	if workspace, err = filepath.EvalSymlinks(workspace); err != nil {
		return "", nil, err
	}
	own, hidden = filepath.Join(workspace, name), append(slices.Clip(f.o.Hidden), f.o.UserDir)
	for _, dir := range []string{filepath.Dir(workspace), workspace} {
		entries, err := durable.ReadDirectory(dir)
		if err != nil {
			return "", nil, err
		}
		for _, e := range entries {
			if path := filepath.Join(dir, e.Name()); e.IsDir() && path != workspace && path != own {
				hidden = append(hidden, path)
			}
		}
	}
	return own, hidden, nil
}

// Read, Write and Close make the standard streams one.
func (p *process) Read(b []byte) (int, error) { return p.service.Output.Read(b) }

func (p *process) Write(b []byte) (int, error) { return p.service.Input.Write(b) }

// Close ends the program.
func (p *process) Close() error {
	p.service.End()
	return errors.Join(p.service.Input.Close(), p.service.Output.Close())
}

// ending says how it ended, for when it is gone.
func (p *process) ending() error {
	result := p.service.Result()
	said := []string{fmt.Sprintf("%v with exit status %d", ErrEnded, result.ExitCode)}
	if result.Signal != "" {
		said[0] = fmt.Sprintf("%v by %s", ErrEnded, result.Signal)
	}
	said = append(said, result.Warnings...)
	if last := p.printed.lastLine(); last != "" {
		said = append(said, "the last that it wrote to standard error: "+last)
	}
	return reason{ErrEnded, strings.Join(said, "; ")}
}

// reason is an error with a text of its own.
type reason struct {
	kind error
	text string
}

func (r reason) Error() string { return r.text }
func (r reason) Unwrap() error { return r.kind }
