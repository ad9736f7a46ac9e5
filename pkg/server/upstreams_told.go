package server

import (
	"fmt"
	"strings"

	"github.com/intentgov/orchestra-mcp/pkg/upstream"
)

// besideText tells of the tools of other servers; "" where there are none.
func besideText(servers []upstream.Definition) string {
	var listed, found []string
	for i, d := range servers {
		switch {
		case i == maxTold:
			listed = append(listed, fmt.Sprintf("those of %d more", len(servers)-i))
		case i > maxTold:
		case d.Searched:
			found = append(found, d.Name)
		case d.Prefix == "":
			listed = append(listed, "those of "+d.Name)
		default:
			listed = append(listed, d.Prefix+"*")
		}
	}
	var text string
	if len(listed) > 0 {
		text = " Here are: " + strings.Join(listed, ", ") + "."
	}
	if len(found) > 0 {
		text += " search_tools finds, and call_tool calls, those of " + strings.Join(found, ", ") + "."
	}
	if text != "" {
		text = "7. Tools of other servers stand under the same law." + text + "\n"
	}
	return text
}
