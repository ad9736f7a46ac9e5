package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
)

// SystemDir is where the system's settings are.
const SystemDir = "/etc/orchestra-mcp"

// UserDir returns the user's settings directory by the XDG rules: $XDG_CONFIG_HOME/orchestra-mcp, or
// ~/.config/orchestra-mcp. It is empty if neither variable has an absolute path.
func UserDir(environ []string) string {
	if config := lookup(environ, "XDG_CONFIG_HOME"); filepath.IsAbs(config) {
		return filepath.Join(config, "orchestra-mcp")
	}
	if home := lookup(environ, "HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".config", "orchestra-mcp")
	}
	return ""
}

func lookup(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// LoadOptions say where settings are.
type LoadOptions struct {
	// WorkspaceRoot is the open workspace; nil leaves its file out.
	WorkspaceRoot *os.Root
	// WorkspaceDir is its absolute path, under which contents are trusted.
	WorkspaceDir string
	// Proposed stands in the place of the workspace's file, for who asks what it would do; it counts as trusted.
	Proposed *File
	// SystemDir and UserDir are the operator's directories; empty leaves one out.
	SystemDir string
	UserDir   string
	// Environ is the environment as KEY=value.
	Environ []string
	// Flags are values by key ("http.listen") from the command line.
	Flags map[string]string
	// Trusted reports whether the operator has trusted a content by its hash. Nil asks the list in UserDir.
	Trusted func(hash string) bool
}

// File is a settings file that was read.
type File struct {
	Name    string // for messages
	Content []byte
}

// Loaded is what came of it.
type Loaded struct {
	Settings Settings
	// Withheld is what the workspace's file, or a tier below a lock, says and what does not hold.
	Withheld []Withheld
	// Warnings are sentences for the operator.
	Warnings []string
	// Origins says where the value of each key comes from ("~/config.yaml:3"); a key at its default is missing.
	Origins map[string]string
	// WorkspaceHash is the content hash of the workspace's file, which can be trusted; empty without a file.
	WorkspaceHash string
	// WorkspaceTrusted: the operator has trusted that content.
	WorkspaceTrusted bool
}

// Withheld is a value that was not applied.
type Withheld struct {
	Key    string
	Value  string // as a file would say it; a secret is hidden
	Origin string
	Reason string
	// NeedsTrust: it takes effect once the workspace's file is trusted.
	NeedsTrust bool
}

// Load reads all sources and returns what holds. Its error wraps ErrInvalid if something does not say what it must; all
// mistakes of the first wrong file are in it. Files that do not exist are no error; files that cannot be read are.
func Load(o LoadOptions) (Loaded, error) {
	m := merger{loaded: Loaded{Settings: Defaults(), Origins: map[string]string{}}, locks: map[string]lock{}}
	if err := m.loadFiles(o); err != nil {
		return Loaded{}, err
	}
	environment, warnings, err := fromEnvironment(o.Environ)
	if err != nil {
		return Loaded{}, err
	}
	m.loaded.Warnings = append(m.loaded.Warnings, warnings...)
	flags, err := fromFlags(o.Flags)
	if err != nil {
		return Loaded{}, err
	}
	m.apply(environment, tierUser)
	m.apply(flags, tierUser)
	m.boundTimeout()
	m.settleServers()
	return m.loaded, nil
}

func (m *merger) loadFiles(o LoadOptions) error {
	if err := m.loadOperatorFile(o.SystemDir, tierSystem); err != nil {
		return err
	}
	if err := m.loadOperatorFile(o.UserDir, tierUser); err != nil {
		return err
	}
	if o.Proposed != nil {
		s, err := parseFile(o.Proposed.Name, o.Proposed.Content, false)
		if err == nil {
			m.apply(s, tierWorkspace)
		}
		return err
	}
	if o.WorkspaceRoot == nil {
		return nil
	}
	if o.UserDir != "" && within(o.UserDir, o.WorkspaceDir) {
		m.warn("Your own settings (%s) are inside the workspace: no tool reads or changes them, but a command below the sandbox level full can read them, and at the level none change them; use a smaller workspace.", o.UserDir)
	}
	return m.loadWorkspaceFile(o)
}

func (m *merger) loadOperatorFile(dir string, tier tier) error {
	if dir == "" {
		return nil
	}
	path := filepath.Join(dir, FileName)
	content, err := durable.ReadRegular(path, maxFile) // where the operator keeps it is the operator's affair
	s, err := sourceOf(path, content, err, true)
	if s != nil {
		m.apply(*s, tier)
		m.lock(*s, tier)
	}
	return err
}

func (m *merger) loadWorkspaceFile(o LoadOptions) error {
	content, err := readWorkspaceFile(o.WorkspaceRoot)
	s, err := sourceOf(workspaceDir+"/"+FileName, content, err, false)
	if s == nil {
		return err
	}
	m.loaded.WorkspaceHash = s.hash
	m.loaded.WorkspaceTrusted, err = o.trusts(s.hash)
	if err != nil {
		// Fails closed: the file is read as one that nobody has trusted.
		m.warn("%v; nothing is taken for trusted.", err)
	}
	tier := tierForeign
	if m.loaded.WorkspaceTrusted {
		tier = tierWorkspace
	}
	m.apply(*s, tier)
	return nil
}

// sourceOf parses a file that was read; nil where there is none.
func sourceOf(name string, content []byte, err error, operator bool) (*source, error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, durable.ErrTooLarge):
		return nil, fmt.Errorf("%w: read %s: has more than %v", ErrInvalid, name, Size(maxFile))
	case err != nil:
		return nil, fmt.Errorf("%w: read %s: %w", ErrInvalid, name, err)
	}
	s, err := parseFile(name, content, operator)
	if err != nil {
		return nil, err
	}
	return &s, nil
}

func (o *LoadOptions) trusts(hash string) (bool, error) {
	if o.Trusted != nil {
		return o.Trusted(hash), nil
	}
	if o.UserDir == "" {
		return false, nil
	}
	return TrustList{UserDir: o.UserDir}.Trusted(o.WorkspaceDir, hash)
}

// within reports whether path is dir or below it, by resolved names.
func within(path, dir string) bool {
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	relative, err := filepath.Rel(dir, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// boundTimeout keeps the default timeout under the longest one, also where only one of the two was set.
func (m *merger) boundTimeout() {
	c := &m.loaded.Settings.Commands
	if c.Timeout <= c.MaxTimeout {
		return
	}
	if m.loaded.Origins["commands.timeout"] != "" {
		m.warn("commands.timeout is %s, but commands.max_timeout allows %s, which holds.", formatDuration(c.Timeout), formatDuration(c.MaxTimeout))
	}
	c.Timeout = c.MaxTimeout
}

func (m *merger) warn(format string, args ...any) {
	m.loaded.Warnings = append(m.loaded.Warnings, fmt.Sprintf(format, args...))
}
