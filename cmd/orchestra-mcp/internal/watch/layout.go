package watch

const (
	// Below these nothing is shown but a request for more room.
	minWidth, minHeight = 24, 8
	// From this width on the list stands beside the body, else above it.
	besideWidth = 100
	listWidth   = 40
)

// layout is how the screen is divided, in columns and rows.
type layout struct {
	small bool
	// beside: the list is to the left of the body.
	beside                    bool
	listWidth, listHeight     int
	detailWidth, detailHeight int // without the line above the body
	foot                      int
}

func (m Model) layout() layout {
	if m.width < minWidth || m.height < minHeight {
		return layout{small: true, detailWidth: max(2, m.width)}
	}
	l := layout{beside: m.width >= besideWidth, foot: len(m.foot(m.width, m.height/2))}
	room := m.height - 1 - l.foot // below the title
	if l.beside {
		l.listWidth, l.listHeight = listWidth, room
		l.detailWidth, l.detailHeight = m.width-listWidth-1, room-1
		return l
	}
	l.listWidth, l.detailWidth = m.width, m.width
	l.listHeight = min(max(1, len(m.items)), max(1, room/3))
	l.detailHeight = max(1, room-l.listHeight-1)
	return l
}
