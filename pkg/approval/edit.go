package approval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Part is what of a call the operator can edit before approving it.
type Part string

// The parts.
const (
	// PartContent is the whole text that the one file of the call holds afterwards.
	PartContent Part = "content"
	// PartCommand is the line of a command.
	PartCommand Part = "command"
	// PartPatch is a patch of several files.
	PartPatch Part = "patch"
	// PartScope are the globs that an intent is to own, one a line.
	PartScope Part = "scope"
)

// ErrNotEditable: the request can be approved as it is, or denied, and not edited. The error that wraps it says why.
var ErrNotEditable = errors.New("this request cannot be edited")

// maxEdit bounds the arguments of an edited call, in bytes, as those of a request are bounded.
const maxEdit = 1 << 20

// Editable is what of a request can be edited.
type Editable struct {
	Part Part
	// Path is the file of a content, as resolved.
	Path string
	// Text is what the agent asks for. Of a content that only a diff or a replacement describes it is "", and has to be
	// computed on the file.
	Text string
}

// Edit is a call that is made in the place of the one that was asked for. NewEdit makes it.
type Edit struct {
	Tool string `json:"tool"`
	// Arguments are without a session handle.
	Arguments json.RawMessage `json:"arguments"`
}

// editing says how a tool's calls are edited: by which tool they are made then, and which of its arguments has the text.
type editing struct {
	part         Part
	tool, member string
}

const writeTool = "write_to_file"

func editingOf(tool string) (editing, bool) {
	switch tool {
	case writeTool, "apply_diff", "edit_file", "edit", "search_replace":
		return editing{PartContent, writeTool, "content"}, true
	case "apply_patch":
		return editing{PartPatch, tool, "patch"}, true
	case "execute_command":
		return editing{PartCommand, tool, "command"}, true
	case "propose_intent":
		return editing{PartScope, tool, "owned_scope"}, true
	case "request_scope_expansion":
		return editing{PartScope, tool, "paths"}, true
	}
	return editing{}, false
}

// EditableOf says what of a request can be edited before it is approved once. The error wraps ErrNotEditable.
func EditableOf(r Request) (Editable, error) {
	how, is := editingOf(r.Tool)
	if _, elsewhere := r.upstream(); elsewhere { // whatever its tool is called
		is = false
	}
	switch {
	case r.ByClient:
		return Editable{}, fmt.Errorf("%w: the client makes the call with a tool of its own, as it asked for it", ErrNotEditable)
	case !is:
		return Editable{}, fmt.Errorf("%w: a call of %s has neither content nor a command, a patch or a scope", ErrNotEditable, r.Tool)
	case len(r.Arguments) == 0:
		return Editable{}, fmt.Errorf("%w: the call was too large to be kept", ErrNotEditable)
	}
	e := Editable{Part: how.part}
	if how.part == PartContent {
		f, err := oneFile(r)
		if err != nil {
			return Editable{}, err
		}
		if e.Path = f.Path; r.Tool != writeTool {
			return e, nil
		}
	}
	var err error
	e.Text, err = Edit{how.tool, r.Arguments}.Text()
	return e, err
}

// oneFile is the effect of a call that changes one file.
func oneFile(r Request) (Effect, error) {
	changed := slices.DeleteFunc(slices.Clone(r.Effects), func(e Effect) bool { return len(e.changed()) == 0 })
	if len(changed) != 1 {
		return Effect{}, fmt.Errorf("%w: it changes %d files", ErrNotEditable, len(changed))
	}
	return changed[0], nil
}

// Text is the part of the call that is edited: a content, a command line, a patch, or globs, one a line.
func (e Edit) Text() (string, error) {
	how, _ := editingOf(e.Tool)
	var members map[string]json.RawMessage
	if err := json.Unmarshal(e.Arguments, &members); err != nil {
		return "", fmt.Errorf("the arguments of %s: %w", e.Tool, err)
	}
	var text string
	var globs []string
	var err error
	if how.part == PartScope {
		err = json.Unmarshal(members[how.member], &globs)
		text = strings.Join(globs, "\n")
	} else {
		err = json.Unmarshal(members[how.member], &text)
	}
	if err != nil {
		return "", fmt.Errorf("the argument %s of %s: %w", how.member, e.Tool, err)
	}
	return text, nil
}

// NewEdit is the call that a request becomes with another text in the place of its Editable.Text; globs stand one a line.
// A content is written whole, and only over what the request was about. The error wraps ErrNotEditable where no text would do.
func NewEdit(r Request, text string) (Edit, error) {
	if _, err := EditableOf(r); err != nil {
		return Edit{}, err
	}
	if !utf8.ValidString(text) {
		return Edit{}, errors.New("the edited text is not valid UTF-8")
	}
	how, _ := editingOf(r.Tool)
	var members map[string]json.RawMessage
	if err := json.Unmarshal(r.Arguments, &members); err != nil {
		return Edit{}, fmt.Errorf("the arguments of %s: %w", r.ID, err)
	}
	if how.part == PartContent {
		members = onto(r, members)
	}
	var value any = text
	if how.part == PartScope {
		value = globsOf(text)
	}
	var err error
	if members[how.member], err = json.Marshal(value); err != nil {
		return Edit{}, err
	}
	encoded, err := json.Marshal(members)
	if err == nil && len(encoded) > maxEdit {
		err = fmt.Errorf("the edited call has %d bytes; at most %d are kept", len(encoded), maxEdit)
	}
	return Edit{how.tool, encoded}, err
}

// onto are the arguments of a whole write of the file of a request, onto what the request was about.
func onto(r Request, asked map[string]json.RawMessage) map[string]json.RawMessage {
	kept := map[string]json.RawMessage{}
	for _, name := range []string{"path", "file_path", "intent_id", "mutation_class"} {
		if value, given := asked[name]; given {
			kept[name] = value
		}
	}
	if f, _ := oneFile(r); f.Before != "" {
		kept["expected_content_hash"] = fmt.Appendf(nil, "%q", f.Before)
	}
	return kept
}

func globsOf(text string) []string {
	globs := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" {
			globs = append(globs, line)
		}
	}
	return globs
}

// of holds an edit against the request that it is for: it is the same call but for its text.
func (e Edit) of(r Request) error {
	text, err := e.Text()
	if err != nil {
		return err
	}
	again, err := NewEdit(r, text)
	if err != nil {
		return err
	}
	if again.Tool != e.Tool || !bytes.Equal(again.Arguments, e.Arguments) {
		return fmt.Errorf("%w so: the edited call differs in more than its text", ErrNotEditable)
	}
	return nil
}
