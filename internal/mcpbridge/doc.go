// Package mcpbridge speaks the Model Context Protocol, so that nothing else in this program has to. It is the only
// importer of mcp-go, whose types of the protocol it hides behind plain types of its own; what mcp-go runs is not used.
//
// # Promise
//
// One [Server] serves three transports: stdio ([Server.ServeStdio]), Streamable HTTP and, where asked for, the older
// HTTP with server-sent events ([Server.HTTPHandler]); and on each both eras of the protocol: revisions up to
// 2025-11-25, which open with initialize, and 2026-07-28, where every request stands alone. On all of them:
//
//   - a message is read once, by a strict reader (UTF-8, one JSON object, no duplicate or miscased names in the
//     envelope, bounded size and depth); what a method gets is made of what was checked, never the raw message;
//   - the arguments of a tool call reach the [ToolHandler] as the exact bytes that were sent;
//   - [ToolHandler.Arrive] is called in the order in which the calls came in, and what it returns runs exactly
//     once, off the reader;
//   - a call is cancelled only by the peer that made it: by notifications/cancelled on its own connection or
//     session, or by closing its own response stream;
//   - over HTTP the stream of a call opens at once and is never silent; in the initialize era one that is lost can
//     be resumed by its session for five minutes, and its call goes on so long;
//   - a question to the client's user ([Call.Elicit], [InputRequired]) is only sent to a client that declared that
//     it shows forms; in the initialize era it bears an id that nobody can guess, and is answered only on the
//     connection or session that was asked, once, by what fits the form;
//   - a call that waits for such an answer keeps no place that others need, nor does one that waits for an earlier
//     call;
//   - a tool's own question ([Call.Ask]) is answered by what fits its form; in 2026-07-28, where the answers come with the
//     call's repetition, those that are not in it are taken from a state that this server has sealed, for this call and
//     principal, or not at all;
//   - what other servers offer ([Config.Beside]) is listed, and what they answer ([Result.Raw]) sent, as they gave it, but
//     for what would mislead a client; it takes no name of ours, and what hangs in it keeps no place that ours need;
//   - what never becomes a call is a JSON-RPC error, and has no effect;
//   - memory is bounded by the limits in [StdioOptions] and [HTTPOptions], whatever arrives.
//
// # Not promised
//
// The bridge does not validate arguments against a tool's schema, does not order calls that came in over separate
// HTTP requests, asks for no sampling, no roots and no URL to be opened, and offers no subscriptions to resources.
// Lists change, and there is logging, only with other servers. JSON-RPC responses to what was never asked are dropped here. Those of 2026-07-28 come
// with a later call, as requestState and inputResponses, and can be forged: they reach the handler as [Call.Resumed],
// which has to authenticate them.
package mcpbridge
