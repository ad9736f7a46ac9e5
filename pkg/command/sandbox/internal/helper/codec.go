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
	list(w, &p.Devices, w.text)
	list(w, &p.Layers, func(l *Layer) {
		w.text(&l.Path)
		w.text(&l.Upper)
		w.text(&l.Work)
	})
	list(w, &p.Trees, w.text)
	list(w, &p.Kept, w.text)
	list(w, &p.Covers, func(c *Cover) {
		w.text(&c.Path)
		small(w, &c.Tree)
	})
	list(w, &p.Links, func(l *Link) {
		w.text(&l.Path)
		w.text(&l.Target)
	})
	list(w, &p.Masks, func(m *Mask) {
		small(w, &m.Kind)
		w.text(&m.Path)
		small(w, &m.Tree)
		w.text(&m.Content)
	})
	small(w, &p.MaxPID)
	small(w, &p.Loopback)
	w.number(&p.Landlock.Tree)
	w.number(&p.Landlock.File)
	w.number(&p.Landlock.Scoped)
	list(w, &p.Landlock.Allowed, w.text)
	w.number(&p.Landlock.Read)
	list(w, &p.Landlock.Readable, w.text)
	var filter = string(p.Filter)
	w.text(&filter)
	p.Filter = []byte(filter)
	small(w, &p.Supervised)
	w.text(&p.Dir)
	w.number(&p.Device)
	w.number(&p.Inode)
	w.text(&p.Path)
	list(w, &p.Args, w.text)
	list(w, &p.Env, w.text)
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
