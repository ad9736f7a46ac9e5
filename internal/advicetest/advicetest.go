// Package advicetest reads refusals as an agent would, for tests: is what they
// advise there, and can it be taken in? It says what is wrong, in sentences.
package advicetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// maxRefusal is how large the JSON of a refusal may be, in bytes: what it hands
// over of a file is at most 64 KiB, which JSON escapes.
const maxRefusal = 200_000

var (
	identifier = regexp.MustCompile(`[a-z.]*\b[a-z]+(?:_[a-z]+)+\b`)
	code       = regexp.MustCompile("`:?([a-z_]+)[^`]*`")
	value      = regexp.MustCompile(`"[^"]*"|\b[a-z]{2,4}_[a-z2-7]{20,}\b`) // what is quoted, and ids
	glued      = regexp.MustCompile(`(?i)\n[^\n]*nothing was (changed|written|selected)\.?[^\n]*$`)
)

// Tools maps the names of tools to those of their arguments.
type Tools map[string][]string

// Add reads a tool's input schema.
func (t Tools) Add(name string, inputSchema []byte) error {
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(inputSchema, &schema); err != nil {
		return err
	}
	t[name] = slices.Sorted(maps.Keys(schema.Properties))
	return nil
}

// Faults says what is wrong with a refusal of tool. A word of its suggestion that looks like code must be a tool, an argument
// of this tool or of one that the suggestion names, a setting, or a key of its details.
func (t Tools) Faults(tool string, refused map[string]any) []string {
	var faults []string
	suggestion, _ := refused["suggestion"].(string)
	suggestion = value.ReplaceAllString(suggestion, `""`)
	details, _ := refused["details"].(map[string]any)
	near := t[tool]
	for _, word := range identifier.FindAllString(suggestion, -1) {
		near = append(slices.Clip(near), t[word]...)
	}
	known := func(word string) bool {
		_, isTool := t[word]
		_, isDetail := details[word]
		return isTool || isDetail || slices.Contains(near, word) || strings.Contains(word, ".") ||
			slices.Contains([]string{"active_intents", "start_line", "content_hash"}, word)
	}
	words := identifier.FindAllString(suggestion, -1)
	for _, m := range code.FindAllStringSubmatch(suggestion, -1) {
		if t.argument(m[1]) {
			words = append(words, m[1])
		}
	}
	for _, word := range words {
		if !known(word) {
			faults = append(faults, fmt.Sprintf("the suggestion names %s, which %s does not have: %s", word, tool, suggestion))
		}
	}
	if strings.Contains(suggestion, ":start_line:") && tool != "apply_diff" {
		faults = append(faults, fmt.Sprintf("the suggestion speaks of search blocks, which %s does not take: %s", tool, suggestion))
	}
	if text, _ := refused["error"].(string); glued.MatchString(text) {
		faults = append(faults, "the error says behind what it quotes that nothing was changed: "+text)
	}
	if whole, err := json.Marshal(refused); err != nil || len(whole) > maxRefusal {
		faults = append(faults, fmt.Sprintf("the refusal has %d bytes (%v)", len(whole), err))
	}
	return faults
}

// argument reports whether any tool has an argument of that name.
func (t Tools) argument(name string) bool {
	for _, arguments := range t {
		if slices.Contains(arguments, name) {
			return true
		}
	}
	return false
}
