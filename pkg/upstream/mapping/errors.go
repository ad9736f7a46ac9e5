package mapping

import "errors"

// ErrArguments: what a call names cannot be told from its arguments, so it is refused.
var ErrArguments = errors.New("the arguments cannot be judged")
