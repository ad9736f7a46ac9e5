package fleet

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/rawjson"
)

// list is the prompts, resources or templates of all servers, with the names that they have with us.
type list struct {
	entries []json.RawMessage
	ours    map[string]origin   // by the name with us
	own     map[string][]origin // by the server's own name
}

// origin is whose something is, and its own name there.
type origin struct {
	server *server
	own    string
}

// add adds the entries of a server under their names with its prefix, of which it has one for each server. A name that begins with
// a longer prefix of another server is that one's, and one of our own scheme is ours, whoever lists it. Of two with one name the
// first counts.
func (l *list) add(s *server, member string, prefixOf func(*server) string, entries []json.RawMessage) {
	if l.ours == nil {
		l.ours, l.own = map[string]origin{}, map[string][]origin{}
	}
	prefix := prefixOf(s)
	for _, entry := range entries {
		members, _ := rawjson.Read(entry)
		own, ok := members.Text(member)
		from := origin{s, own}
		if _, taken := l.ours[prefix+own]; !ok || taken || isOurs(prefix+own) || s.fleet.isForeign(prefix+own, prefix, prefixOf) {
			continue
		}
		l.ours[prefix+own] = from
		l.own[own] = append(l.own[own], from)
		l.entries = append(l.entries, withText(members, member, prefix+own).Raw())
	}
}

// isForeign reports whether a name that has the prefix of its own server is among those of another one, which has a longer prefix.
func (f *Fleet) isForeign(name, prefix string, prefixOf func(*server) string) bool {
	return slices.ContainsFunc(f.servers, func(s *server) bool {
		other := prefixOf(s)
		return len(other) > len(prefix) && strings.HasPrefix(name, other)
	})
}

// ourScheme is that of our own resources.
const ourScheme = "orchestra:"

// isOurs reports whether a URI, or the beginning of one, is of our own scheme, in any letter case.
func isOurs(uri string) bool {
	return len(uri) >= len(ourScheme) && strings.EqualFold(uri[:len(ourScheme)], ourScheme)
}

func (l *list) same(other list) bool {
	return slices.EqualFunc(l.entries, other.entries, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// namePrefix stands before the names of the server's prompts, uriPrefix before its URIs.
func (s *server) namePrefix() string { return s.def.Prefix }

func (s *server) uriPrefix() string {
	if s.def.Prefix == "" {
		return ""
	}
	return s.def.Name + "+"
}

// resource finds whose a URI is: NAME+URI is the named server's, be it listed or not; any other is that of the one server that
// lists it so itself, as results have them, or of the server without a prefix if it begins like one of its templates. None is of our
// own scheme: what we do not have there nobody has.
func (f *Fleet) resource(uri string) (origin, bool) {
	if isOurs(uri) {
		return origin{}, false
	}
	v := f.current()
	if is, ok := v.resources.ours[uri]; ok {
		return is, true
	}
	if name, own, ok := strings.Cut(uri, "+"); ok && f.byName[name] != nil && own != "" {
		return origin{f.byName[name], own}, true
	}
	if listed := v.resources.own[uri]; len(listed) == 1 {
		return listed[0], true
	}
	for template, is := range v.templates.ours {
		if start, _, open := strings.Cut(template, "{"); is.server.def.Prefix == "" && open && start != "" && strings.HasPrefix(uri, start) {
			return origin{is.server, uri}, true
		}
	}
	return origin{}, false
}

// withText is an object with another text as a member.
func withText(o rawjson.Object, member, text string) rawjson.Object {
	return o.Set(member, rawjson.AppendText(nil, text))
}
