package helper

// Encode is the plan as bytes, for a helper of the same program.
func (p *Plan) Encode() []byte {
	var e encoder
	p.walk(&e)
	return e.out
}

// Decode reports whether the bytes are a whole plan, and reads it.
func (p *Plan) Decode(in []byte) bool {
	d := decoder{in: in}
	p.walk(&d)
	return !d.short && len(d.in) == 0
}

// walker visits the fields, so that both directions have one order.
type walker interface {
	number(*uint64)
	text(*string)
}

func (p *Plan) walk(w walker) {
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

func small[T ~uint8 | ~uint32](w walker, value *T) {
	number := uint64(*value)
	w.number(&number)
	*value = T(number)
}

func list[T any](w walker, values *[]T, visit func(*T)) {
	length := uint64(len(*values))
	w.number(&length)
	for i := uint64(0); i < length; i++ {
		if i == uint64(len(*values)) {
			if d, ok := w.(*decoder); ok && d.short {
				return // what the length promised is not there
			}
			var value T
			*values = append(*values, value)
		}
		visit(&(*values)[i])
	}
}

type encoder struct{ out []byte }

func (e *encoder) number(value *uint64) {
	for shift := 0; shift < 64; shift += 8 {
		e.out = append(e.out, byte(*value>>shift))
	}
}

func (e *encoder) text(value *string) {
	length := uint64(len(*value))
	e.number(&length)
	e.out = append(e.out, *value...)
}

type decoder struct {
	in    []byte
	short bool
}

func (d *decoder) take(length uint64) []byte {
	if uint64(len(d.in)) < length {
		d.in, d.short = nil, true
		return nil
	}
	taken := d.in[:length]
	d.in = d.in[length:]
	return taken
}

func (d *decoder) number(value *uint64) {
	*value = 0
	for i, b := range d.take(8) {
		*value |= uint64(b) << (8 * i)
	}
}

func (d *decoder) text(value *string) {
	var length uint64
	d.number(&length)
	*value = string(d.take(length))
}
