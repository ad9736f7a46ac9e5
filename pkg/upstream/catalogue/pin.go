package catalogue

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/internal/rawjson"
)

// version is that of the file's format.
const version = 1

// maxFile bounds a pin file: what is pinned, what is listed, what was looked at, and JSON around it.
const maxFile = 2*MaxListing + 4<<20

// pins is the content of a pin file, one JSON object:
//
//	version  1
//	is       the identity of the server when its tools were pinned
//	pinned   by the server's own name: the hash and the definition, and reviewed where the operator trusted it by hand
//	listed   what the server listed last: in tools a name stands for a definition that is the pinned one
//	clean    which of it was looked at, and nothing found
type pins struct {
	Version int            `json:"version"`
	Is      Identity       `json:"is"`
	Pinned  map[string]pin `json:"pinned"`
	Listed  listed         `json:"listed"`
	Clean   clean          `json:"clean,omitzero"`
}

type pin struct {
	Hash       string         `json:"hash"`
	Definition jsontext.Value `json:"definition"`
	Reviewed   bool           `json:"reviewed,omitzero"`
}

type listed struct {
	Is           Identity         `json:"is"`
	Capabilities jsontext.Value   `json:"capabilities,omitempty"`
	Tools        []jsontext.Value `json:"tools"`
	Prompts      []jsontext.Value `json:"prompts,omitempty"`
	Resources    []jsontext.Value `json:"resources,omitempty"`
	Templates    []jsontext.Value `json:"templates,omitempty"`
	Problems     []string         `json:"problems,omitempty"`
}

// readPins reads an open pin file.
func readPins(file io.Reader, info fs.FileInfo) (*pins, error) {
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("others than you can write it (mode %04o)", info.Mode().Perm())
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("it has more than %d bytes", maxFile)
	}
	content, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return nil, err
	}
	p := new(pins)
	if err := jsonv2.Unmarshal(content, p, jsonv2.RejectUnknownMembers(true)); err != nil {
		return nil, errors.New("it is torn, or no pin file")
	}
	switch {
	case p.Version != version:
		return nil, fmt.Errorf("it has version %d, and this program knows %d", p.Version, version)
	case p.Pinned == nil:
		return nil, errors.New("it does not say what is pinned")
	}
	for own, pin := range p.Pinned {
		if form, err := canonical(pin.Definition); err != nil || hash(form) != pin.Hash {
			return nil, fmt.Errorf("the pin of %s is not that of its definition", forPeople(own))
		}
	}
	for i, tool := range p.Listed.Tools {
		name, is := rawjson.Text(tool)
		if !is {
			continue
		}
		pin, known := p.Pinned[name]
		if !known {
			return nil, fmt.Errorf("%s is listed as pinned, and is not", forPeople(name))
		}
		p.Listed.Tools[i] = pin.Definition
	}
	return p, nil
}

// encode writes the file's content.
func (p *pins) encode() ([]byte, error) {
	out := *p
	out.Version = version
	out.Listed.Tools = slices.Clone(p.Listed.Tools)
	for i, tool := range out.Listed.Tools {
		form, err := canonical(tool)
		if err != nil {
			continue
		}
		own := nameIn(json.RawMessage(tool))
		if pin, known := p.Pinned[own]; known && pin.Hash == hash(form) {
			out.Listed.Tools[i] = rawjson.AppendText(nil, own)
		}
	}
	content, err := jsonv2.Marshal(out, jsonv2.Deterministic(true))
	return append(content, '\n'), err
}

// temporary begins the names of files on their way to the pin file's name.
func temporary(base string) string { return "." + base + "-" }

// tidy removes what processes have left that died while they wrote. The lock is held.
func (h *held) tidy() {
	entries, err := durable.ReadDirectoryIn(h.dir, ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), temporary(h.base)) && strings.HasSuffix(e.Name(), ".tmp") {
			_ = h.dir.Remove(e.Name())
		}
	}
}
