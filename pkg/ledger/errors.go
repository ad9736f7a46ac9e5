package ledger

import "errors"

// ErrClosed: the Ledger was used after Close.
var ErrClosed = errors.New("the ledger is closed")
