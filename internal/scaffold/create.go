package scaffold

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Names of what is written, relative to the workspace.
const (
	IntentsFile    = ".orchestration/active_intents.yaml"
	ConfigFile     = ".orchestration/config.yaml"
	IgnoreFile     = ".orchestration/.intentignore"
	SettingsSchema = ".orchestration/schema/settings.json"
	IntentsSchema  = ".orchestration/schema/intents.json"
	GitIgnoreFile  = ".orchestration/.gitignore"
	AttributesFile = ".gitattributes"
)

// FirstIntent is the intent that a new workspace starts with. It is in progress from the start.
type FirstIntent struct {
	ID, Name, Description string
	Scope                 []string
	StartedAt             time.Time
}

// Options say what is written.
type Options struct {
	Intent    FirstIntent
	Detection Detection
	// SettingsSchema and IntentsSchema are JSON Schemas for editors, which other packages own; nil leaves one out, and with
	// it the line that names it.
	SettingsSchema, IntentsSchema []byte
	// Beside: the ledger will stand beside the tree, so that git ignores what leads there, and has no ledger to merge.
	Beside bool
	// Config is the annotated example of the settings, which another package owns.
	Config []byte
}

// Action is what happened to one file.
type Action string

// The actions.
const (
	Created  Action = "created"
	Kept     Action = "kept"
	Appended Action = "appended to"
)

// Result is what happened to one file.
type Result struct {
	File   string `json:"file"`
	Action Action `json:"action"`
	Detail string `json:"detail,omitempty"`
}

// Create writes the files of a workspace. On an error, the results are of the files that were done before.
func Create(root *os.Root, opts Options) ([]Result, error) {
	if err := root.MkdirAll(path.Dir(IntentsFile), 0o755); err != nil {
		return nil, fmt.Errorf("create .orchestration: %w", err)
	}
	var results []Result
	for name, text := range map[string][]byte{SettingsSchema: opts.SettingsSchema, IntentsSchema: opts.IntentsSchema} {
		if err := createSchema(root, name, text); err != nil {
			return nil, fmt.Errorf("write %s: %w", name, err)
		}
	}
	// The intents come last: their file is what makes the workspace initialised.
	for _, file := range []struct {
		name string
		text []byte
	}{
		{GitIgnoreFile, []byte(gitIgnoreText(opts.Beside))}, {IgnoreFile, []byte(ignoreText)}, {ConfigFile, withSchema(opts.Config, SettingsSchema, opts.SettingsSchema)},
		{IntentsFile, withSchema(renderIntents(opts), IntentsSchema, opts.IntentsSchema)},
	} {
		result, err := createFile(root, file.name, file.text)
		if err != nil {
			return results, fmt.Errorf("write %s: %w", file.name, err)
		}
		results = append(results, result)
	}
	result, err := addAttributes(root, attributeLines(opts.Beside))
	if err != nil {
		return results, fmt.Errorf("write %s: %w", AttributesFile, err)
	}
	return append(results, result), nil
}

// createSchema writes what only helps editors, and is not worth a line of the report.
func createSchema(root *os.Root, name string, text []byte) error {
	if text == nil {
		return nil
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	_, err := createFile(root, name, text)
	return err
}

// withSchema puts the line before a file by which editors find its schema, from where the file is.
func withSchema(text []byte, name string, schema []byte) []byte {
	if schema == nil {
		return text
	}
	return append([]byte("# yaml-language-server: $schema="+path.Base(path.Dir(name))+"/"+path.Base(name)+"\n"), text...)
}

// createFile writes a file that does not exist yet; it never replaces one, and an unfinished one is taken away again.
func createFile(root *os.Root, name string, text []byte) (Result, error) {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return Result{File: name, Action: Kept, Detail: "it exists"}, nil
	}
	if err != nil {
		return Result{}, err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return Result{}, errors.Join(err, root.Remove(name))
	}
	return Result{File: name, Action: Created}, nil
}

// attributeLines let git merge two branches' ledgers by keeping the lines of both, and keep it from changing the bytes of
// what is hashed or signed. Archives are never merged: those of two branches have two names. Of a ledger beside the tree
// only the seals are in it.
func attributeLines(beside bool) []string {
	const seals = ".orchestration/seals/** -text"
	if beside {
		return []string{seals}
	}
	return []string{
		".orchestration/agent_trace.jsonl merge=union -text",
		".orchestration/trace/*.jsonl merge=union -text",
		".orchestration/archive/** -diff -merge -text",
		seals,
	}
}

// maxAttributes bounds what is read of .gitattributes.
const maxAttributes = 1 << 20

// addAttributes appends the lines that are missing, in one write.
func addAttributes(root *os.Root, lines []string) (Result, error) {
	info, err := root.Lstat(AttributesFile)
	if err == nil && !info.Mode().IsRegular() { // git itself does not follow a link here
		return Result{File: AttributesFile, Action: Kept, Detail: "it is not a regular file; add by hand: " +
			strings.Join(lines, " and ")}, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Result{}, err
	}
	existed := err == nil
	file, err := root.OpenFile(AttributesFile, os.O_RDWR|os.O_CREATE|os.O_APPEND|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return Result{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxAttributes))
	if err != nil {
		return Result{}, err
	}
	addition := missingAttributes(string(text), lines)
	if addition == "" {
		return Result{File: AttributesFile, Action: Kept, Detail: "the lines are there"}, nil
	}
	if _, err := file.WriteString(addition); err != nil {
		return Result{}, err
	}
	action := Created
	if existed {
		action = Appended
	}
	return Result{File: AttributesFile, Action: action, Detail: "what git must know of the ledger"}, file.Sync()
}

// missingAttributes is what has to be appended to text, with its line ends.
func missingAttributes(text string, lines []string) string {
	newline := "\n"
	if strings.Contains(text, "\r\n") {
		newline = "\r\n"
	}
	var addition strings.Builder
	for _, line := range lines {
		if !hasAttribute(text, line) {
			addition.WriteString(line + newline)
		}
	}
	if addition.Len() > 0 && text != "" && !strings.HasSuffix(text, "\n") {
		return newline + addition.String()
	}
	return addition.String()
}

// hasAttribute reports whether a line gives the same pattern the first of the wanted attributes, in whatever state: what a
// person chose stays.
func hasAttribute(text, wanted string) bool {
	pattern, attribute := strings.Fields(wanted)[0], attributeName(strings.Fields(wanted)[1])
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || strings.TrimPrefix(fields[0], "/") != pattern {
			continue
		}
		if slices.ContainsFunc(fields[1:], func(field string) bool { return attributeName(field) == attribute }) {
			return true
		}
	}
	return false
}

func attributeName(field string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(field, "-!"), "=")
	return name
}
