package clientsetup

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/intentgov/orchestra-mcp/internal/serverlist"
)

// said is how the detail of a client's file tells what moves.
func (a *adoption) said() string {
	switch n := len(a.now); n {
	case 0:
		return ""
	case 1:
		return "; 1 server moves behind it"
	default:
		return fmt.Sprintf("; %d servers move behind it", n)
	}
}

func (a *Adoption) changes() bool {
	return a != nil && slices.ContainsFunc(a.Files, func(f File) bool { return f.writes() })
}

// takeServer takes an entry of ours out, and puts those back that an earlier setup has moved.
func (p *planner) takeServer(doc, was *document, list, name string) (string, error) {
	entry, there := doc.servers(list)[name]
	if there && !entry.isOurs() {
		return "", fmt.Errorf("%w: the server %q does not look as setup writes it; take it out by hand", errKept, name)
	}
	var details []string
	for _, moved := range p.adoption.was {
		if doc.find(list, moved.Key) == nil {
			if err := doc.putBack(moved.Text, moved.Key, list); err != nil {
				return "", err
			}
			details = append(details, "the server "+moved.Key+" is back")
		}
	}
	if there {
		doc.take(was, list, name)
		details = append(details, "no server "+name)
	}
	return strings.Join(details, "; "), nil
}

// closeAdoption follows the plan of the file with the client's list: it keeps what is not in it any more, or plans what the
// servers that are back leave in our own files.
func (p *planner) closeAdoption() error {
	file := &p.plan.Files[len(p.plan.Files)-1]
	file.adopted = p.adoption.all()
	if !p.removing || len(file.adopted) == 0 || file.Action == Kept {
		return nil
	}
	entries, _ := foreignEntries(file.Content, p.adoption.list)
	return p.giveBack(file.Path, file.adopted, entries)
}

// giveBack plans what servers leave in our files that are with the client again; receipt is the name of what was kept of it.
func (p *planner) giveBack(receipt string, all []adopted, entries map[string]any) error {
	if p.plan.Adoption == nil {
		p.plan.Adoption = &Adoption{giving: true}
	}
	g := &giver{planner: p, Adoption: p.plan.Adoption, settings: map[string]*File{}}
	g.given = append(g.given, receipt)
	others := p.adoptedElsewhere(receipt)
	for _, a := range all {
		if entries[a.Key] == nil {
			continue
		}
		g.Moved = append(g.Moved, a.told(nil))
		if a.Added && !slices.ContainsFunc(others, a.same) {
			if err := g.leave(a); err != nil {
				return err
			}
		}
	}
	for _, name := range g.order {
		file := g.settings[name]
		if file.Action = actionFor(file.existed, file.before, edited{content: file.Content}); file.Action != Unchanged {
			g.Files = append([]File{*file}, g.Files...)
		}
	}
	return nil
}

// same: another client's server has the same place among ours.
func (a adopted) same(other adopted) bool {
	return a.Settings == other.Settings && a.Item.Name == other.Item.Name
}

// giver empties our settings and files of secrets again.
type giver struct {
	*planner
	*Adoption
	settings map[string]*File
	order    []string
}

// leave takes one server out of ours, if it is there as it was put there.
func (g *giver) leave(a adopted) error {
	file, err := g.list(a.Settings)
	if err != nil {
		return err
	}
	after, taken, err := serverlist.Take(file.Content, a.Item)
	if !taken {
		if there, _, _ := serverlist.Present(file.Content, a.Item); there || err != nil {
			g.Left = append(g.Left, Left{a.Item.Name, "it was changed in " + file.Name + " since setup put it there, and was left there"})
			return nil
		}
	} else if file.Content = after; len(bytes.TrimSpace(after)) == 0 {
		file.Content = nil
	}
	if a.Secrets == "" {
		return nil
	}
	secrets, err := g.fileAt(a.Secrets, false)
	switch {
	case err != nil || !secrets.existed:
		return err
	case hashOf(secrets.before) != a.Hash:
		g.Left = append(g.Left, Left{a.Item.Name, "its secrets were changed, and are left in " + secrets.Name})
	default:
		secrets.Action, secrets.Content, secrets.Detail = Removed, nil, "secrets of "+a.Item.Name
		g.Files = append(g.Files, secrets)
	}
	return nil
}

// list is the file of our settings, as it becomes.
func (g *giver) list(path string) (*File, error) {
	if file := g.settings[path]; file != nil {
		return file, nil
	}
	_, inside := g.nameOf(path)
	file, err := g.fileAt(path, inside)
	file.Detail = "without what is back with the client"
	g.settings[path], g.order = &file, append(g.order, path)
	return &file, err
}
