// Package server puts orchestra-mcp together: it is the only place that knows every part, and the API for those who embed it.
//
//	srv, err := server.New(server.Options{Dir: dir, Settings: settings.Defaults()})
//	…
//	srv.AddPreHook(hook)   // judged after the shipped gate
//	srv.AddTool(tool)      // governed like the shipped ones
//	err = srv.ServeStdio(ctx, os.Stdin, os.Stdout)
//	err = errors.Join(err, srv.Close())
//
// AddHandler, AddPrompt, AddResource and AddResourceTemplate take what a program has that was written with mcp-go; the handler
// of a tool meets its client through ClientOf. Of logging, sampling and roots there is nothing: 2026-07-28 has deprecated them.
//
// # Other servers
//
// The MCP servers that the settings name stand behind an embedded server as behind the program: OperatorOptions brings those
// of the operator, who looks at their tools and trusts changes of them with `orchestra-mcp servers`. What a program wants behind
// itself whatever the operator has declared, it declares in the same form, in which everything is checked:
//
//	loaded, err := settings.Load(settings.LoadOptions{
//		UserDir: user, Environ: os.Environ(),
//		Flags: map[string]string{"servers": `[{name: wiki, url: "https://wiki.example/mcp", safe: ["read_*"]}]`},
//	})
//	…
//	srv, err := server.New(server.Options{Dir: dir, Settings: loaded.Settings, UserDir: user})
//
// Their pins, logins and secrets lie in UserDir (package fleet), so two programs that share one share them; `orchestra-mcp servers`
// knows of a server only where the operator's settings name it too. They start when they are needed, and Close ends them. What
// they are asked is judged as any call, AddPreHook's hooks included, which find it in Effects.Upstream of the call; a tool of the
// program's own goes before one of theirs of the same name.
//
// All of this is added before serving. One Server may serve several transports at once, and several Servers, also in
// several processes, may share one workspace.
package server
