package snapshot

import "slices"

// twice says of what is at a path since this walk where the same walk found it standing as before. What has a single name
// was renamed, or its directory was, between the looks into two directories: that it is new tells nothing then.
func (n *node) twice(deltas []delta) {
	came := map[number][]*delta{}
	for i := range deltas {
		if d := &deltas[i]; d.after != nil && d.after.stat.ino != 0 && (d.after.stat.links <= 1 || d.after.stat.kind() == Directory) && (d.before == nil || !d.before.stat.sameInode(&d.after.stat)) {
			came[d.after.stat.number()] = append(came[d.after.stat.number()], d)
		}
	}
	if len(came) > 0 {
		n.search("", came)
	}
}

func (n *node) search(at string, came map[number][]*delta) {
	for i := range n.entries {
		e := &n.entries[i]
		path := join(at, e.name)
		if fresh := came[e.stat.number()]; !slices.ContainsFunc(fresh, func(d *delta) bool { return d.path == path }) {
			for _, d := range fresh {
				d.after.also = path
			}
		}
		if e.dir != nil {
			e.dir.search(path, came)
		}
	}
}
