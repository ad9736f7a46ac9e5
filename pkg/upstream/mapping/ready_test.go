package mapping_test

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
	"github.com/intentgov/orchestra-mcp/pkg/upstream/mapping"
)

// listed is a tool as a real server lists it: the releases of 2026-08-31, playwright's 0.0.83 with all that it can be asked for.
type listed struct {
	Name        string
	InputSchema schema
}

type schema struct {
	Type       any
	Properties map[string]schema
	Items      *schema
}

func listing(t testing.TB, server string) []listed {
	t.Helper()
	file := check.Value(os.Open("../testdata/" + server + ".json.gz"))(t)
	defer file.Close()
	var all struct{ Tools []listed }
	check.OK(t, json.NewDecoder(check.Value(gzip.NewReader(file))(t)).Decode(&all))
	check.Must(t, len(all.Tools) > 0, "%s lists nothing", server)
	return all.Tools
}

// texts are the places of texts in a schema.
func (s schema) texts(at string) (places []string) {
	if s.Type == "string" && at != "" {
		places = append(places, at)
	}
	if s.Items != nil {
		places = append(places, s.Items.texts(at+"[]")...)
	}
	for name, property := range s.Properties {
		places = append(places, property.texts(strings.TrimPrefix(at+"."+name, "."))...)
	}
	return places
}

// notMapped look like paths, commands or addresses, and are none: by server, TOOL PLACE.
func notMapped() map[string][]string {
	return map[string][]string{
		"everything":          {"gzip-file-as-resource name", "get-structured-content location"}, // of a resource, a town
		"memory":              {"create_relations relations[].from", "create_relations relations[].to", "delete_relations relations[].from", "delete_relations relations[].to"},
		"sequential-thinking": {},
		"filesystem":          {}, // patterns are matched below path
		"playwright": {
			"browser_cookie_list path", "browser_cookie_set path", // of addresses
			"browser_resume location",                                   // a line at which the code waits
			"browser_run_code_unsafe code", "browser_evaluate function", // programs, in no language of the command policy
		},
	}
}

var suspicious = regexp.MustCompile(`(?i)path|file|dir|folder|^source|dest|^from$|^to$|location|url|uri|link|href|address|command|cmd|^script|shell|code|function|exec|^data$`)

// Each mapped place is in the schema of a tool, and each that looks like one is mapped or named as none.
func TestReadyMappingsFitTheServers(t *testing.T) {
	check.That(t, len(mapping.Names()) == 5, "%v", mapping.Names())
	for _, server := range mapping.Names() {
		effects, known := mapping.Ready(server)
		check.Must(t, known, "%s is not known", server)
		used := map[string]bool{}
		for _, tool := range listing(t, server) {
			m := check.Value(mapping.Compile(effects...))(t)
			places := tool.InputSchema.texts("")
			for _, place := range places {
				mapped := names(t, m, tool.Name, place)
				last := place[strings.LastIndex(place, ".")+1:]
				looks := suspicious.MatchString(strings.Trim(last, "[]"))
				none := slices.Contains(notMapped()[server], tool.Name+" "+place)
				check.That(t, !looks || mapped != none, "%s: %s %s looks like one, is mapped: %v, named as none: %v", server, tool.Name, place, mapped, none)
				if mapped {
					used[tool.Name] = true
				}
			}
		}
		for _, e := range effects {
			fits := false
			for _, tool := range listing(t, server) {
				places := tool.InputSchema.texts("")
				only := check.Value(mapping.Compile(e))(t)
				for _, place := range slices.Concat(e.Reads, e.Writes, e.Deletes, e.Commands, e.URLs) {
					fits = fits || only.Maps(tool.Name) && slices.Contains(places, place)
				}
			}
			check.That(t, fits, "%s: nothing has %+v", server, e)
		}
	}
	_, known := mapping.Ready("github")
	check.That(t, !known, "github is known")
}

// names reports whether a text in a place of the arguments is a target.
func names(t *testing.T, m *mapping.Mapping, tool, place string) bool {
	var value any = "https://a.example"
	members := strings.Split(place, ".")
	for _, member := range slices.Backward(members) {
		name := strings.TrimRight(member, "[]")
		for range strings.Count(member, "[]") {
			value = []any{value}
		}
		value = map[string]any{name: value}
	}
	got, err := m.Targets(tool, check.Value(json.Marshal(value))(t))
	check.OK(t, err)
	return len(slices.Concat(got.Reads, got.Writes, got.Deletes, got.Commands, got.URLs)) > 0
}
