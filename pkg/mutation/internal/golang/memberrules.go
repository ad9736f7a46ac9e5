package golang

import (
	"fmt"
	"go/token"

	"github.com/intentgov/orchestra-mcp/pkg/mutation/internal/tree"
)

// member judges the renaming of a field or a method.
func (r *rules) member(b, a *tree.Object) string {
	mb, ma := r.members[b], r.members[a]
	if mb == nil || ma == nil {
		return "these files do not tell of which type it is"
	}
	for _, name := range []string{b.Name, a.Name} {
		if r.before.fixed[name] || r.after.fixed[name] {
			return fmt.Sprintf("%q also stands where these files do not tell of which type it is", name)
		}
	}
	if token.IsExported(b.Name) != token.IsExported(a.Name) {
		return "exported members are found by packages that read them at run time"
	}
	if why := r.relatives(mb, ma); why != "" {
		return why
	}
	if why := r.mentioned(b, a); why != "" {
		return why
	}
	if r.named(b.Name) || r.named(a.Name) {
		return "a string has the name, and the program can find members by strings"
	}
	if !isMethod(b) {
		return r.field(mb, ma)
	}
	return r.method(mb, ma)
}

// relatives judges what else has members that the renamed one can hide, be
// hidden by, or be hidden no more: embedded types and those that embed.
func (r *rules) relatives(b, a *member) string {
	was, is := b.object.Name, a.object.Name
	exported := token.IsExported(was)
	for _, side := range []struct {
		*side
		member     *member
		own, other string
	}{{r.before, b, was, is}, {r.after, a, is, was}} {
		s := side.side
		for _, user := range append(r.users[s][side.member.owner], side.member.owner) {
			list, strangers := s.parts(user)
			if user.expr != nil && (strangers || exported && s.partsOf[user].foreigners) {
				return "its type is made of others or part of them, whose members are not known here"
			}
			for _, part := range list {
				if has(part, side.other) || s.unseen[use{part, side.other}] != absent {
					return "the name stood for another member before, or does so now"
				}
				if s.unseen[use{part, side.own}] == possible {
					return fmt.Sprintf("%q can be a method that another file declares", side.own)
				}
			}
		}
	}
	return r.together(b, is)
}

// together: members that hide each other go on to do so.
func (r *rules) together(b *member, is string) string {
	for _, user := range r.users[r.before][b.owner] {
		list, _ := r.before.parts(user)
		for _, part := range list {
			for _, m := range []*member{part.fields[b.object.Name], part.methods[b.object.Name]} {
				if m != nil && (r.became[m.object] == nil || r.became[m.object].Name != is) {
					return "another member of the name, which it hides or is hidden by, was renamed otherwise"
				}
			}
		}
	}
	return ""
}

func has(info *typeInfo, name string) bool {
	return info.fields[name] != nil || info.methods[name] != nil
}

// field judges the new name of a field by who looks for it at run time.
func (r *rules) field(b, a *member) string {
	if b.owner.unnamed && (len(r.unnamed["was "+b.owner.shape()]) > 1 || len(r.unnamed["is "+a.owner.shape()]) > 1) {
		return "types without a name are the same if their fields have the same names"
	}
	return r.encoded(b, a)
}

// method judges the new name of a method by the interfaces that it can belong
// to.
func (r *rules) method(b, a *member) string {
	was, is := b.object.Name, a.object.Name
	switch {
	case r.before.isWellKnown(b) || r.after.isWellKnown(a):
		return "the standard library looks for methods of such a name"
	case token.IsExported(was) && b.object.Kind == "interface method":
		return "types in other files can have it"
	case !r.required[was] && !r.required[is]:
		return "" // no interface of these files tells who has it
	case len(r.methods[was]) > 1:
		return fmt.Sprintf("other methods %q were not", was)
	case r.methods[is] != nil:
		return fmt.Sprintf("there was a method %q before", is)
	case r.before.hasUnseen(was) || r.before.hasUnseen(is) || r.after.hasUnseen(was) || r.after.hasUnseen(is):
		return "a type has a method of the name in another file"
	}
	return ""
}

// hasUnseen tells whether a type uses a member of the name that another file
// gives to it.
func (s *side) hasUnseen(name string) bool {
	for u := range s.unseen {
		if u.name == name {
			return true
		}
	}
	return false
}
