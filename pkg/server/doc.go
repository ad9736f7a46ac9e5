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
// All of this is added before serving. One Server may serve several transports at once, and several Servers, also in
// several processes, may share one workspace.
package server
