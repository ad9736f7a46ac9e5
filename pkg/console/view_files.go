package console

import (
	"errors"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/durable"
	"github.com/intentgov/orchestra-mcp/pkg/blame"
	"github.com/intentgov/orchestra-mcp/pkg/intent"
	"github.com/intentgov/orchestra-mcp/pkg/workspace"
)

// maxEntries bounds what of a directory is listed.
const maxEntries = 2000

// fileEntry is a file or a directory in a list.
type fileEntry struct {
	Name, Path string
	Dir        bool
	Owners     []*intent.Intent // whose scope has it
}

// crumb is a directory on the way to a path.
type crumb struct{ Name, Path string }

func crumbs(name string) (way []crumb) {
	for at := name; at != "." && at != "/" && at != ""; at = path.Dir(at) {
		way = append(way, crumb{path.Base(at), at})
	}
	slices.Reverse(way)
	return way
}

// pathOf is the path that a request asks for, clean and in the workspace.
func pathOf(r *http.Request) (string, error) {
	name := path.Clean(strings.TrimSuffix(r.URL.Query().Get("path"), "/"))
	if name == "/" || name == "" {
		name = "."
	}
	if !fs.ValidPath(name) {
		return "", badRequest("This is no path of the workspace.")
	}
	if name == ".orchestration" || strings.HasPrefix(name, ".orchestration/") || name == ".git" || strings.HasPrefix(name, ".git/") {
		return "", badRequest("What is below .git and .orchestration is not shown here.")
	}
	return name, nil
}

func (c *Console) files(r *http.Request, p *place) (page, error) {
	name, err := pathOf(r)
	if err != nil {
		return page{}, err
	}
	entries, err := durable.ReadDirectoryIn(p.Root, name)
	if err != nil {
		return page{}, notFound("This directory cannot be listed: " + err.Error())
	}
	set, _ := intent.Open(p.Root).Load() // without the intents, nobody owns anything
	data := struct {
		Path    string
		Crumbs  []crumb
		Entries []fileEntry
		More    int
	}{Path: name, Crumbs: crumbs(name)}
	for _, e := range entries {
		if name == "." && (e.Name() == ".git" || e.Name() == ".orchestration") {
			continue
		}
		one := fileEntry{Name: e.Name(), Path: path.Join(name, e.Name()), Dir: e.IsDir()}
		if set != nil && !one.Dir {
			one.Owners = set.Covering(one.Path)
		}
		data.Entries = append(data.Entries, one)
	}
	slices.SortFunc(data.Entries, func(a, b fileEntry) int {
		if a.Dir != b.Dir {
			return map[bool]int{true: -1, false: 1}[a.Dir]
		}
		return strings.Compare(a.Name, b.Name)
	})
	if data.More = len(data.Entries) - maxEntries; data.More > 0 {
		data.Entries = data.Entries[:maxEntries]
	}
	return page{Template: "files", Title: "Files", Tab: "files", Place: p, Live: []area{intents}, Data: data}, nil
}

// maxBlamed bounds the lines that are shown of a file.
const maxBlamed = 5000

func (c *Console) file(r *http.Request, p *place) (page, error) {
	name, err := pathOf(r)
	if err != nil {
		return page{}, err
	}
	result, err := p.Blame().File(r.Context(), name)
	if err != nil {
		return page{}, blameError(err)
	}
	data := struct {
		Path    string
		Crumbs  []crumb
		Lines   []blamed
		More    int
		Intents []legend
	}{Path: name, Crumbs: crumbs(name)}
	for i, l := range result.Lines[:min(len(result.Lines), maxBlamed)] {
		data.Lines = append(data.Lines, blamed{l, i == 0 || recordOf(l) != recordOf(result.Lines[i-1])})
	}
	data.Intents = legendOf(result.Lines, p.intentNames())
	data.More = len(result.Lines) - len(data.Lines)
	return page{Template: "file", Title: name, Tab: "files", Place: p, Live: []area{records}, Data: data}, nil
}

// blamed is a line; First says that the record before wrote none of it.
type blamed struct {
	blame.Line
	First bool
}

func recordOf(l blame.Line) string {
	if l.Record == nil {
		return ""
	}
	return l.Record.Hash
}

func blameError(err error) error {
	_, noPath := errors.AsType[*fs.PathError](err) // it leads out of the workspace, or there is nothing
	if noPath || errors.Is(err, blame.ErrNotAFile) || errors.Is(err, blame.ErrNoSuchLine) || errors.Is(err, workspace.ErrBinary) {
		return notFound(err.Error())
	}
	return err
}

// legend is an intent that wrote lines of a file; an empty id is nobody's.
type legend struct {
	ID, Name string
	Lines    int
}

func legendOf(lines []blame.Line, names map[string]string) (all []legend) {
	for _, l := range lines {
		id := ""
		if l.Record != nil {
			id = l.Record.IntentID
		}
		at := slices.IndexFunc(all, func(one legend) bool { return one.ID == id })
		if at < 0 {
			at = len(all)
			all = append(all, legend{ID: id, Name: names[id]})
		}
		all[at].Lines++
	}
	slices.SortStableFunc(all, func(a, b legend) int { return b.Lines - a.Lines })
	return all
}

// why tells the story of a line.
func (c *Console) why(r *http.Request, p *place) (page, error) {
	name, err := pathOf(r)
	if err != nil {
		return page{}, err
	}
	line, err := strconv.Atoi(r.URL.Query().Get("line"))
	if err != nil || line < 1 {
		return page{}, badRequest("A line has a number from 1 on.")
	}
	found, err := p.Blame().Line(r.Context(), name, line)
	if err != nil {
		return page{}, blameError(err)
	}
	data := struct {
		Path    string
		Crumbs  []crumb
		Found   blame.Explanation
		Intents map[string]*intent.Intent
	}{Path: name, Crumbs: crumbs(name), Found: found, Intents: map[string]*intent.Intent{}}
	if set, err := intent.Open(p.Root).Load(); err == nil {
		for _, t := range found.Story {
			if in, ok := set.Get(t.Record.IntentID); ok {
				data.Intents[in.ID] = in
			}
		}
	}
	return page{Template: "why", Title: name + ":" + strconv.Itoa(line), Tab: "files", Place: p, Live: []area{records}, Data: data}, nil
}
