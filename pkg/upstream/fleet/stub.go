package fleet

import "github.com/intentgov/orchestra-mcp/pkg/upstream"

type server struct{}

func newServer(*Fleet, upstream.Definition) *server { return &server{} }

type firstUse struct{}

type shelf struct{}

func (o Options) withDefaults() Options { return o }

// MaxInFlight is how many requests a server has at a time; others wait.
const MaxInFlight = 64

// Inherited are the variables of our environment that a program gets; a name that ends in * is a beginning.
const Inherited = "PATH HOME USER LOGNAME LANG LC_* TZ TERM"
