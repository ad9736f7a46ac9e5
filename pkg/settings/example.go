package settings

import (
	"bytes"
	"strings"
)

// KeyInfo describes a setting for people and programs.
type KeyInfo struct {
	Name     string // "approvals.wait"
	Variable string // "ORCHESTRA_APPROVALS_WAIT"
	Default  string // as a file would say it
	Values   string // what it takes
	Doc      string
	// Workspace is what the workspace's file may do with it before it is trusted: "free", "may only tighten",
	// "may add" or "needs trust".
	Workspace string
	Example   string // an entry of a list, empty for others
}

// Keys describes every setting, in the order in which they are documented.
func Keys() []KeyInfo {
	defaults := Defaults()
	var infos []KeyInfo
	for _, k := range catalogue() {
		values := strings.Join(k.choices, ", ")
		if values == "" {
			values = formOf(k.Type).name
		}
		if limits := k.limitsText(); limits != "" {
			values += ", " + limits
		}
		infos = append(infos, KeyInfo{k.name, k.variable(), encode(k.get(&defaults)), values, k.Tag.Get("doc"), k.order.note, k.Tag.Get("example")})
	}
	return infos
}

// exampleWidth is where comments of the example are broken.
const exampleWidth = 100

const exampleHeader = `# Settings of orchestra-mcp for this workspace. Every key stands here with its default; take the # away from
# one to change it. Groups can also be nested. Environment variables (ORCHESTRA_APPROVALS_WAIT for
# approvals.wait) and flags go before this file. What weakens a default or starts a program takes effect only
# when the operator has run: orchestra-mcp trust
`

// Example returns a settings file in which every key is commented out at its default: it is valid, and sets nothing.
func Example() []byte {
	var out bytes.Buffer
	out.WriteString(exampleHeader)
	for _, info := range Keys() {
		out.WriteByte('\n')
		for _, line := range wrap(info.Doc+" ("+info.Values+")", exampleWidth-2) {
			out.WriteString("# " + line + "\n")
		}
		if info.Example != "" {
			out.WriteString("# Example: [" + info.Example + "]\n")
		}
		out.WriteString("#" + info.Name + ": " + info.Default + "\n")
	}
	return out.Bytes()
}

// wrap breaks text between words.
func wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
