package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// work is one ordinary call of an agent, as our server and the reference server do it.
type work struct {
	name  string
	tool  string
	args  args
	other []otherCall // none where the reference server cannot do it
}

type otherCall struct {
	tool string
	args args
}

// tokenWork is what an agent does in a workspace of 20 files, by relative paths.
func tokenWork() []work {
	search := func(old, new string) string {
		return "<<<<<<< SEARCH\n" + old + "\n=======\n" + new + "\n>>>>>>> REPLACE\n"
	}
	change := func(old, new string) args { return args{"oldText": old, "newText": new} }
	first, second := "000000 00000001 "+strings.Repeat("x", 47), "000000 00000005 "+strings.Repeat("x", 47)
	return []work{
		{"list a directory of 20 files", "list_files", args{"path": "src"}, []otherCall{{"list_directory", args{"path": "src"}}}},
		{"list everything", "list_files", args{"recursive": true}, []otherCall{{"directory_tree", args{"path": "."}}}},
		{"read a file of 4 KiB", "read_file", args{"path": "src/file00.txt"}, []otherCall{{"read_text_file", args{"path": "src/file00.txt"}}}},
		{"read 20 lines of 40 KiB", "read_file", args{"path": "src/large.txt", "limit": 20}, []otherCall{{"read_text_file", args{"path": "src/large.txt", "head": 20}}}},
		{"search for a text", "search_files", args{"regex": "00000007", "path": "src"}, nil},
		{"write a file of 1 KiB", "write_to_file", args{"path": "src/new.txt", "content": content(1<<10, 0)}, []otherCall{{"write_file", args{"path": "src/new.txt", "content": content(1<<10, 0)}}}},
		{"edit a line", "edit_file", args{"path": "src/file00.txt", "old_string": first, "new_string": "one"}, []otherCall{{"edit_file", args{"path": "src/file00.txt", "edits": []args{change(first, "one")}}}}},
		{
			"edit two places", "apply_diff", args{"path": "src/file01.txt", "diff": search(first, "one") + search(second, "two")},
			[]otherCall{{"edit_file", args{"path": "src/file01.txt", "edits": []args{change(first, "one"), change(second, "two")}}}},
		},
		{
			"replace a file of 4 KiB", "write_to_file", args{"path": "src/file00.txt", "content": content(fileSize, 1)},
			[]otherCall{{"write_file", args{"path": "src/file00.txt", "content": content(fileSize, 1)}}},
		},
		{
			"move a file", "apply_patch", args{"patch": "*** Begin Patch\n*** Update File: src/file02.txt\n*** Move to: src/moved.txt\n*** End Patch\n"},
			[]otherCall{{"move_file", args{"source": "src/file02.txt", "destination": "src/moved.txt"}}},
		},
	}
}

// cost is what of a call can reach a model, in characters: its arguments, and the two forms of its result, of which clients
// show one or both.
type cost struct{ arguments, text, structured int }

func (c cost) whole() int { return c.arguments + c.text + c.structured }

func (c cost) plus(d cost) cost {
	return cost{c.arguments + d.arguments, c.text + d.text, c.structured + d.structured}
}

func (c cost) String() string {
	return fmt.Sprintf("%s (%d + %d + %d)", thousands(int64(c.whole())), c.arguments, c.text, c.structured)
}

func costOf(p *peer, tool string, a args) cost {
	_, answer := p.call(tool, a)
	answer = bytes.ReplaceAll(answer, []byte(p.cmd.Dir), []byte(".")) // whose length is chance
	var r struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
		}
	}
	check(json.Unmarshal(answer, &r))
	c := cost{arguments: utf8.RuneCount(must(json.Marshal(a))), structured: utf8.RuneCount(r.Result.StructuredContent)}
	for _, part := range r.Result.Content {
		c.text += utf8.RuneCountInString(part.Text)
	}
	return c
}

// measureTokens counts what agents pay: once for the list of tools, and for each call.
func measureTokens(s *suite) {
	full, core := s.tokenServer(), s.tokenServer("ORCHESTRA_TOOLS_ENABLED=core")
	whole, inputs := listCost(full)
	s.add(atMost("tools/list, full", float64(whole), 24_000, characters, ""), atMost("names, titles, descriptions and inputs of it", float64(inputs), 12_000, characters, ""))
	whole, inputs = listCost(core)
	s.add(atMost("tools/list, core", float64(whole), 12_000, characters, fmt.Sprintf("names, titles, descriptions and inputs %d", inputs)))
	theirs, why := s.otherTokenServer()
	if theirs != nil {
		whole, inputs = listCost(theirs)
		s.add(inform("tools/list of the reference server", float64(whole), characters, fmt.Sprintf("names, titles, descriptions and inputs %d", inputs)))
	}
	short := s.tokenServer("ORCHESTRA_RESULTS_TEXT=short")
	fullSession, shortSession := full.selects(intentID(0)), short.selects(intentID(0))
	var sums [3]cost
	for _, w := range tokenWork() {
		w.args["session"] = fullSession
		a := costOf(full, w.tool, w.args)
		w.args["session"] = shortSession
		b := costOf(short, w.tool, w.args)
		reference := why
		if theirs != nil {
			c := cost{}
			for _, o := range w.other {
				c = c.plus(costOf(theirs, o.tool, o.args))
			}
			if reference = c.String(); w.other == nil {
				reference = "none"
			} else {
				sums[0], sums[1], sums[2] = sums[0].plus(a), sums[1].plus(b), sums[2].plus(c)
			}
		}
		s.add(inform(w.name, float64(a.whole()), characters, fmt.Sprintf("%s, %s; short %s; reference %s", w.tool, a, b, reference)))
	}
	if theirs != nil {
		s.add(inform("the calls that both have", float64(sums[0].whole()), characters, fmt.Sprintf("%s; short %s; reference %s", sums[0], sums[1], sums[2])))
	}
}

// listCost is the length of the result of tools/list, and of what of it is a tool's name and description.
func listCost(p *peer) (whole, inputs int) {
	_, answer := p.request("tools/list", args{})
	var list struct{ Result json.RawMessage }
	check(json.Unmarshal(answer, &list))
	var tools struct{ Tools []map[string]json.RawMessage }
	check(json.Unmarshal(list.Result, &tools))
	for _, tool := range tools.Tools {
		for _, part := range []string{"name", "title", "description", "inputSchema"} {
			inputs += len(`"":,`) + len(part) + utf8.RuneCount(tool[part])
		}
	}
	return utf8.RuneCount(list.Result), inputs
}

func (s *suite) tokenServer(env ...string) *peer { return s.served(s.tokenWorkspace(), env...) }

// otherTokenServer is the reference server, or why there is none.
func (s *suite) otherTokenServer() (*peer, string) {
	command, why := s.reference()
	if why != "" {
		return nil, why
	}
	command.Dir = s.tokenWorkspace()
	command.Args = append(command.Args, command.Dir)
	p := startPeer(command)
	s.atEnd(p.close)
	p.initialize()
	return p, ""
}

func (s *suite) tokenWorkspace() string {
	dir := s.workspace(1)
	for i := range 19 {
		writeFile(filepath.Join(dir, "src", fmt.Sprintf("file%02d.txt", i)), content(fileSize, 0))
	}
	writeFile(filepath.Join(dir, "src", "large.txt"), content(10*fileSize, 0))
	return dir
}
