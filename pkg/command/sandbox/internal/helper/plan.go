package helper

// Plan is what a helper does, in the order of the fields. Paths are absolute and have no links in them.
type Plan struct {
	// Devices are bound into a /dev that has nothing else; those that do not exist are left out.
	Devices []string
	// Layers lie over directories before anything is taken.
	Layers []Layer
	// Trees are taken while they can still be written. Covers and Masks name them by their index, each one once.
	Trees []string
	// Kept are taken after everything was made read-only, and put back where a cover lies over them.
	Kept []string
	// Covers replace whole directories.
	Covers []Cover
	// Links are made in covers.
	Links []Link
	// Masks are put in place one after the other, so the outer ones come first.
	Masks []Mask
	// MaxPID is the greatest process id that there can be, 0 for any: process ids
	// are threads, too. It is only for kernels where each namespace has its own.
	MaxPID uint32
	// Loopback is 1 to bring up the only interface of a network namespace.
	Loopback uint8
	// Landlock is the second boundary.
	Landlock Landlock
	// Filter is the seccomp program, as the kernel takes it.
	Filter []byte
	// Supervised is 1 where the filter puts calls to a supervisor.
	Supervised uint8

	// Dir is where the command starts. It must be the directory with the number Inode on Device: it was checked by
	// descriptor. Under a Layer numbers say nothing, and what happens there stays in the layer.
	Dir           string
	Device, Inode uint64
	// Path, Args and Env are the command.
	Path string
	Args []string
	Env  []string
}

// Layer is a directory whose changes go elsewhere (overlayfs): to Upper, by way of Work, an empty directory of the same file system.
type Layer struct{ Path, Upper, Work string }

// Cover is a directory that something else stands in for.
type Cover struct {
	Path string
	// Tree is the index of what does, or Empty.
	Tree uint32
}

// Link is a symbolic link to be made.
type Link struct{ Path, Target string }

// Sees reports whether a path is what it is outside: no cover lies over it, or it was kept.
func (p *Plan) Sees(path string) bool {
	for _, kept := range p.Kept {
		if path == kept || Below(path, kept) {
			return true
		}
	}
	for _, cover := range p.Covers {
		if Below(path, cover.Path) {
			return false
		}
	}
	return true
}

// Below reports whether a path is below a directory, by their names.
func Below(path, dir string) bool {
	return len(path) > len(dir) && path[:len(dir)] == dir && (path[len(dir)] == '/' || dir == "/")
}

// Empty stands for a directory of its own with nothing in it.
const Empty = ^uint32(0)

// Mask is one path with its own rule.
type Mask struct {
	Kind Kind
	Path string
	// Tree is for Writable.
	Tree uint32
	// Content is for the kind of that name.
	Content string
}

// Kind says what a mask does.
type Kind byte

// The kinds of masks.
const (
	// Writable puts a tree back in its place.
	Writable Kind = iota + 1
	// Frozen makes what is there read-only.
	Frozen
	// Anchor changes nothing but that the directory cannot be renamed or removed: it holds something that must stay where it is.
	Anchor
	// Hidden puts something there that cannot be opened.
	Hidden
	// Content puts a file there that says something else.
	Content
	// Emptied puts an empty directory there.
	Emptied
)

// Landlock has the rights that are handled, and where they are allowed.
type Landlock struct {
	Tree, File, Scoped uint64
	Allowed            []string
	// Read is allowed for what is Readable, as far as that is there.
	Read     uint64
	Readable []string
}

// Encode is the plan as bytes, for a helper of the same program.
func (p *Plan) Encode() []byte {
	var c codec
	p.walk(&c)
	return c.bytes
}

// Decode reports whether the bytes are a whole plan, and reads it.
func (p *Plan) Decode(in []byte) bool {
	c := codec{bytes: in, reads: true}
	p.walk(&c)
	return !c.short && len(c.bytes) == 0
}

// codec visits the fields, so that both directions have one order.
type codec struct {
	bytes        []byte // that are written, or left to be read
	reads, short bool
}

func (p *Plan) walk(w *codec) {
	filter := string(p.Filter)
	w.values(&p.Devices, &p.Layers, &p.Trees, &p.Kept, &p.Covers, &p.Links, &p.Masks, &p.MaxPID, &p.Loopback,
		&p.Landlock.Tree, &p.Landlock.File, &p.Landlock.Scoped, &p.Landlock.Allowed, &p.Landlock.Read, &p.Landlock.Readable,
		&filter, &p.Supervised, &p.Dir, &p.Device, &p.Inode, &p.Path, &p.Args, &p.Env)
	p.Filter = []byte(filter)
}

func (c *codec) values(fields ...any) {
	for _, field := range fields {
		switch v := field.(type) {
		case *uint64:
			c.number(v)
		case *uint32:
			small(c, v)
		case *uint8:
			small(c, v)
		case *Kind:
			small(c, v)
		case *string:
			c.text(v)
		case *[]string:
			list(c, v, c.text)
		case *[]Layer:
			list(c, v, func(l *Layer) { c.values(&l.Path, &l.Upper, &l.Work) })
		case *[]Cover:
			list(c, v, func(o *Cover) { c.values(&o.Path, &o.Tree) })
		case *[]Link:
			list(c, v, func(l *Link) { c.values(&l.Path, &l.Target) })
		case *[]Mask:
			list(c, v, func(m *Mask) { c.values(&m.Kind, &m.Path, &m.Tree, &m.Content) })
		}
	}
}

func small[T ~uint8 | ~uint32](w *codec, value *T) {
	number := uint64(*value)
	w.number(&number)
	*value = T(number)
}

func list[T any](w *codec, values *[]T, visit func(*T)) {
	length := uint64(len(*values))
	w.number(&length)
	for i := uint64(0); i < length; i++ {
		if i == uint64(len(*values)) {
			if w.short {
				return // what the length promised is not there
			}
			var value T
			*values = append(*values, value)
		}
		visit(&(*values)[i])
	}
}

func (c *codec) number(value *uint64) {
	if !c.reads {
		for shift := 0; shift < 64; shift += 8 {
			c.bytes = append(c.bytes, byte(*value>>shift))
		}
		return
	}
	*value = 0
	for i, b := range c.take(8) {
		*value |= uint64(b) << (8 * i)
	}
}

func (c *codec) text(value *string) {
	length := uint64(len(*value))
	if c.number(&length); c.reads {
		*value = string(c.take(length))
	} else {
		c.bytes = append(c.bytes, *value...)
	}
}

func (c *codec) take(length uint64) []byte {
	if uint64(len(c.bytes)) < length {
		c.bytes, c.short = nil, true
		return nil
	}
	taken := c.bytes[:length]
	c.bytes = c.bytes[length:]
	return taken
}
