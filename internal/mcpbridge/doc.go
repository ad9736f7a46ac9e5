// Package mcpbridge speaks the Model Context Protocol, so that nothing else in
// this program has to. It is the only importer of mcp-go, which it hides
// behind plain types of its own.
//
// # Promise
//
// One [Server] serves three transports: stdio ([Server.ServeStdio]),
// Streamable HTTP and, where asked for, the older HTTP with server-sent events
// ([Server.HTTPHandler]); and on each both eras of the protocol: revisions up
// to 2025-11-25, which open with initialize, and 2026-07-28, where every
// request stands alone. On all of them:
//
//   - a message is read once, by a strict reader (UTF-8, one JSON object, no
//     duplicate or miscased names in the envelope, bounded size and depth);
//     what mcp-go sees is rebuilt from what was checked, never the raw message;
//   - the arguments of a tool call reach the [ToolHandler] as the exact bytes
//     that were sent;
//   - [ToolHandler.Arrive] is called in the order in which the calls came in,
//     and what it returns runs exactly once, off the reader;
//   - a call is cancelled only by the peer that made it: by
//     notifications/cancelled on its own connection or session, or by closing
//     its own response stream;
//   - what never becomes a call is a JSON-RPC error, and has no effect;
//   - memory is bounded by the limits in [StdioOptions] and [HTTPOptions],
//     whatever arrives.
//
// # Not promised
//
// The bridge does not validate arguments against a tool's schema, does not
// order calls that came in over separate HTTP requests, does not ask the
// client anything (elicitation, sampling, roots), and offers no resource
// subscriptions, no list-changed notifications and no stream resumption.
// Answers to questions that were never asked (inputResponses, requestState,
// JSON-RPC responses) are dropped here.
package mcpbridge
