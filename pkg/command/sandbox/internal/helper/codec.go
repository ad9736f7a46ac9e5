package helper

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
