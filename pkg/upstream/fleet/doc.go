// Package fleet runs the MCP servers of others that stand behind this one, and passes requests to them.
//
// # Promise
//
//   - A server is started when it is first needed, once at a time, and again after it has ended: at the next request, but not sooner
//     than a second after it ended, two after the second time, and so on up to a minute, as long as it does not live for a minute.
//     Until then requests fail at once, and say why and when.
//   - A program is held as commands are (package sandbox), at a level no lower than the settings require, or does not run. It starts in
//     a directory of its own outside of the workspace, gets of our environment what is in [Inherited] and nothing else, and is found on
//     a PATH without relative directories and without those of the workspace. It can write that directory, a temporary one, caches of
//     packages that no command can write, what the operator names, and with `workspace: write` what a command may.
//   - One that may write the workspace stands still while nobody waits for it, but on Windows: what it writes, it writes for a call.
//   - Whoever is started is listed before the first request reaches it. A tool that is not, or no longer, the one that was pinned is not
//     called.
//   - What a tool answers is checked against its output schema, as far as package foreignschema goes.
//   - A server that hangs, floods, dies or answers wrongly fails its own requests. At most [MaxInFlight] of them are with one server at
//     a time.
//   - When the fleet is closed, no program of it is left, within two seconds. After a kill of this process their first processes die
//     with it, and what those leave is ended as for commands (command.Runner.EndAbandoned).
//   - A secret of the operator's files is in no error, state or log. A file that others could read is not used.
//
// # Not promised
//
// What rules close after the start of a server stays open to it until it starts again, but for what is checked of its calls. What it
// sends over the network is not seen. Its answers are not searched for secrets that it was given.
//
// # Files
//
//	<user>/servers/NAME.secrets     mode 0600; lines NAME=value for a program, Header: value for an address; blank lines, # comments
//	<user>/servers/NAME.oauth       the tokens of a login (package login)
//	<user>/servers/NAME.tools.json  the pins (package catalogue)
//	<user>/servers/NAME.failure.json why it failed last; gone when it has started since
//	<cache>/servers/<16 hex of the workspace>/NAME/data     where the program starts; cache beside it
//
// For a server that the workspace's own settings declare, <user>/servers/<12 hex of the workspace>/ stands in the place of the first.
package fleet
