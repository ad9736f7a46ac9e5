//go:build !linux

package doctor

import (
	"context"
	"errors"
)

func probe(context.Context) ability { return ability{namespaces: errors.ErrUnsupported} }
