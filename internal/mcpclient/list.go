package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/intentgov/orchestra-mcp/internal/rawjson"
)

const (
	maxPages   = 1000
	maxEntries = 10000
)

// List returns the entries of all pages of a list, such as tools/list with its member tools, each as it came. It takes at most
// 10,000 entries, 1,000 pages and MaxMessage bytes: beyond is ErrList or ErrTooLarge, and no entries. What is no object is left
// out, and so is a tool of 2026-07-28 over HTTP whose x-mcp-header is not valid, as the protocol has it.
func (c *Client) List(ctx context.Context, method, of string) (entries []json.RawMessage, err error) {
	params, size, seen := json.RawMessage("{}"), 0, map[string]bool{}
	for range maxPages {
		page, err := c.Request(ctx, method, params, Handlers{})
		if err != nil {
			return nil, err
		}
		if size += len(page); size > c.options.MaxMessage {
			return nil, fmt.Errorf("%w: all pages of %s have more than %d bytes", ErrTooLarge, method, c.options.MaxMessage)
		}
		elements, err := rawjson.Elements(member(page, of), maxEntries)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %s: %w", ErrAnswer, method, of, err)
		}
		if entries = append(entries, c.usable(elements, of)...); len(entries) > maxEntries {
			return nil, fmt.Errorf("%w: %s has more than %d entries", ErrList, method, maxEntries)
		}
		cursor := member(page, "nextCursor")
		if cursor == nil {
			c.listed.Store(true)
			return entries, nil
		}
		if _, is := rawjson.Text(cursor); !is || seen[string(cursor)] {
			return nil, fmt.Errorf("%w: %s comes back to the page %s", ErrList, method, shown(string(cursor)))
		}
		seen[string(cursor)] = true
		params = append(append([]byte(`{"cursor":`), cursor...), '}')
	}
	return nil, fmt.Errorf("%w: %s has more than %d pages", ErrList, method, maxPages)
}

// usable are the elements that are entries. Each has memory of its own, so that keeping one does not keep its page.
func (c *Client) usable(elements []json.RawMessage, of string) (entries []json.RawMessage) {
	for _, element := range elements {
		if element[0] != '{' {
			continue
		}
		if of == "tools" && !c.shared && c.Identity().Modern {
			if _, err := mirrored(member(element, "inputSchema"), nil); err != nil {
				tool, _ := rawjson.Text(member(element, "name"))
				c.options.Logger.Warn().Err(err).Str("tool", shown(tool)).Msg("the tool is left out: its x-mcp-header is not valid")
				continue
			}
		}
		entries = append(entries, bytes.Clone(element))
	}
	return entries
}
