package catalogue

// Renamed is a sentence where the server has another name than when its tools were pinned, "" where it has not. Trust takes the name
// that it has now. The error wraps ErrDamaged.
func (b *Book) Renamed() (string, error) {
	r, err := b.read()
	if r == nil || err != nil {
		return "", err
	}
	return renamed(r.pins.Is, r.pins.Listed.Is), nil
}
