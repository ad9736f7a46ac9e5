package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/lazy"
)

// FileName is the settings file's name in each of the three places.
const FileName = "config.yaml"

// workspaceDir is the directory of the workspace's file.
const workspaceDir = ".orchestration"

// maxFile bounds a settings file; it is read whole.
const maxFile = 1 << 20

// lockName is the key that only operators' files have.
const lockName = "lock"

// assignment is a value that some source gives to a key.
type assignment struct {
	key    *key
	value  any // of the field's type
	origin string
}

// source is a parsed file, or the variables or flags.
type source struct {
	name        string
	assignments []assignment
	locks       []string // keys
	hash        string   // of a file's content
}

// readWorkspaceFile refuses links: one could lead to a file that agents write.
func readWorkspaceFile(root *os.Root) ([]byte, error) {
	for _, name := range []string{workspaceDir, workspaceDir + "/" + FileName} {
		if info, err := root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s is a symbolic link; put the file itself there", name)
		}
	}
	return durable.ReadRegularIn(root, workspaceDir+"/"+FileName, maxFile)
}

// parser turns one file into assignments and collects all mistakes in it.
type parser struct {
	file     string
	operator bool // locks are allowed
	seen     map[string]bool
	out      source
	errs     []error
}

// parseFile reads the content of a settings file.
func parseFile(file string, content []byte, operator bool) (source, error) {
	p := parser{file: file, operator: operator, seen: map[string]bool{}, out: source{name: file, hash: ContentHash(content)}}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return p.out, nil
	}
	if err != nil {
		return source{}, p.syntaxError(err)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return source{}, p.syntaxErrorOr(err, "a second YAML document; settings are one")
	}
	p.mapping("", document.Content[0])
	return p.out, errors.Join(p.errs...)
}

func (p *parser) mapping(prefix string, node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null" {
		return // a group of which every line is commented out
	}
	if node.Kind != yaml.MappingNode {
		p.fail(node, "want a mapping of settings, not %s", describe(node))
		return
	}
	for pair := range slices.Chunk(node.Content, 2) {
		p.entry(prefix+pair[0].Value, pair[0], pair[1])
	}
}

// entry takes groups nested or with dots, as this program's documentation writes them.
func (p *parser) entry(name string, at, value *yaml.Node) {
	known := find(name)
	switch {
	case name == lockName:
		p.lock(at, value)
	case known != nil:
		p.assign(known, at, value)
	case len(keysOf(name)) > 0:
		p.mapping(name+".", value)
	default:
		p.fail(at, "unknown key %q%s", name, didYouMean(name, names()))
	}
}

func (p *parser) assign(k *key, at, node *yaml.Node) {
	if p.seen[k.name] {
		p.fail(at, "%q stands here twice", k.name)
		return
	}
	p.seen[k.name] = true
	value := reflect.New(k.Type).Elem()
	err := decode(node, value)
	if err == nil {
		err = k.validate(value.Interface())
	}
	m, positioned := errors.AsType[*mistake](err)
	switch {
	case positioned && k.secret(): // the message would show the value
		p.fail(m.node, "%s: %s", k.name, k.wanted())
	case positioned:
		p.fail(m.node, "%s: %s", k.name, m.message)
	case err != nil:
		p.fail(node, "%s: %v", k.name, err)
	default:
		p.out.assignments = append(p.out.assignments, assignment{k, value.Interface(), fmt.Sprintf("%s:%d", p.file, at.Line)})
	}
}

// lock takes keys and groups.
func (p *parser) lock(at, node *yaml.Node) {
	var locked []string
	if !p.operator {
		p.fail(at, "lock has no effect in a workspace; it belongs in the operator's own settings")
		return
	}
	if p.seen[lockName] {
		p.fail(at, "%q stands here twice", lockName)
		return
	}
	p.seen[lockName] = true
	if err := decode(node, reflect.ValueOf(&locked).Elem()); err != nil {
		p.fail(node, "lock: want a list of keys")
		return
	}
	for i, name := range locked {
		matching := keysOf(name)
		if len(matching) == 0 {
			p.fail(node.Content[i], "lock: unknown key %q%s", name, didYouMean(name, names()))
		}
		p.out.locks = append(p.out.locks, matching...)
	}
}

// keysOf are the key of a name, or those of a group.
func keysOf(name string) (matching []string) {
	for _, k := range catalogue() {
		if k.name == name || strings.HasPrefix(k.name, name+".") {
			matching = append(matching, k.name)
		}
	}
	return matching
}

func (p *parser) fail(node *yaml.Node, format string, args ...any) {
	p.errs = append(p.errs, &PositionError{p.file, node.Line, node.Column, fmt.Sprintf(format, args...)})
}

// yamlLine is how the YAML library says where.
var yamlLine = lazy.Regexp(`(?s)^yaml: (?:line (\d+): )?(.*)$`)

func (p *parser) syntaxError(err error) error { return p.syntaxErrorOr(err, err.Error()) }

func (p *parser) syntaxErrorOr(err error, message string) error {
	position := &PositionError{File: p.file, Line: 1, Message: message}
	if err == nil {
		return position
	}
	if parts := yamlLine().FindStringSubmatch(err.Error()); parts != nil {
		position.Message = "not valid YAML: " + parts[2]
		if line, err := strconv.Atoi(parts[1]); err == nil {
			position.Line = line
		}
	}
	return position
}
