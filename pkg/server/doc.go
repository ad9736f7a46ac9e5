// Package server puts orchestra-mcp together: it is the only place that knows every part, and the API for those who embed it.
//
//	srv, err := server.New(server.Options{Dir: dir, Settings: settings.Defaults()})
//	…
//	srv.AddPreHook(hook)   // judged after the shipped gate
//	srv.AddTool(tool)      // governed like the shipped ones
//	err = srv.ServeStdio(ctx, os.Stdin, os.Stdout)
//	err = errors.Join(err, srv.Close())
//
// Tools and hooks are added before serving. One Server may serve several transports at once, and several Servers, also in
// several processes, may share one workspace.
package server
