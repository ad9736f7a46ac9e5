package mapping

import (
	"maps"
	"slices"
)

// ready are the effects that come with the program. Those of a server without a path, command or address are empty: that it was
// looked at is said too.
func ready() map[string][]Effect {
	return map[string][]Effect{
		"everything": {{Tool: "gzip-file-as-resource", URLs: []string{"data"}}},
		"filesystem": {
			{Tool: "read_*", Reads: []string{"path"}},
			{Tool: "read_multiple_files", Reads: []string{"paths[]"}},
			{Tool: "list_directory*", Reads: []string{"path"}},
			{Tool: "directory_tree", Reads: []string{"path"}},
			{Tool: "search_files", Reads: []string{"path"}},
			{Tool: "get_file_info", Reads: []string{"path"}},
			{Tool: "write_file", Writes: []string{"path"}},
			{Tool: "edit_file", Writes: []string{"path"}},
			{Tool: "create_directory", Writes: []string{"path"}},
			{Tool: "move_file", Deletes: []string{"source"}, Writes: []string{"destination"}},
		},
		"memory": {},
		"playwright": {
			{Tool: "browser_navigate", URLs: []string{"url"}},
			{Tool: "browser_tabs", URLs: []string{"url"}},
			{Tool: "browser_file_upload", Reads: []string{"paths[]"}},
			{Tool: "browser_drop", Reads: []string{"paths[]"}},
			{Tool: "browser_run_code_unsafe", Reads: []string{"filename"}},
			{Tool: "browser_set_storage_state", Reads: []string{"filename"}},
			{Tool: "browser_console_messages", Writes: []string{"filename"}},
			{Tool: "browser_evaluate", Writes: []string{"filename"}},
			{Tool: "browser_find", Writes: []string{"filename"}},
			{Tool: "browser_network_request*", Writes: []string{"filename"}},
			{Tool: "browser_pdf_save", Writes: []string{"filename"}},
			{Tool: "browser_snapshot", Writes: []string{"filename"}},
			{Tool: "browser_start_video", Writes: []string{"filename"}},
			{Tool: "browser_storage_state", Writes: []string{"filename"}},
			{Tool: "browser_take_screenshot", Writes: []string{"filename"}},
		},
		"sequential-thinking": {},
	}
}

// Ready returns the effects that come with the program for a server, and whether it is one of Names.
func Ready(name string) ([]Effect, bool) {
	effects, known := ready()[name]
	return effects, known
}

// Names are those that Ready knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(ready())) }
