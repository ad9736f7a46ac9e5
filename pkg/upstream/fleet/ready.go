package fleet

import "github.com/intentgov/orchestra-mcp/pkg/upstream"

// Ready says what keeps a server from being started or reached, as far as that can be told without doing it: a file of secrets that
// cannot be used (ErrSecrets), a program that is not there. Of the options it takes Workspace, UserDir and Environ.
func Ready(o Options, d upstream.Definition) error {
	_, err := readSecrets(FilesOf(o.UserDir, o.Workspace, d).Secrets, d.HTTP())
	if err != nil || d.HTTP() {
		return err
	}
	around := o.surroundings()
	path := lookup(o.Environ, "PATH")
	if own := lookup(d.Env, "PATH"); own != "" {
		path = around.expand(own)
	}
	_, err = around.find(around.expand(d.Command[0]), around.searchPath(path))
	return err
}
