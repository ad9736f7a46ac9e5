package command

// What the tests of this package look at from outside.
const (
	TailLimit   = tailLimit
	MaxLineText = maxLineText
	PieceSize   = pieceSize
)
