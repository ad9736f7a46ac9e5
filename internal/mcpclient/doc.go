// Package mcpclient speaks the Model Context Protocol to one server, as its client: over the byte streams of a process
// ([Connect]) or over Streamable HTTP ([ConnectHTTP]), in revision 2026-07-28 or, with an initialize handshake, in those from
// 2024-11-05 to 2025-11-25. Which it is, the server is asked.
//
// # Promise
//
// The server is a stranger. Whatever it sends,
//
//   - memory is bounded: nothing longer than [Options.MaxMessage] is held, whatever is not an answer is taken at a bounded
//     rate, and of what is not used at once the least is kept (a few signs of progress, the latest among them, and a few lines of log);
//   - a request gets the answer to itself, once: ids are ours, and an answer to what was not asked, was answered already or was
//     given up is dropped and counted ([Client.Dropped]);
//   - what it says reaches the one request that it belongs to, or nobody: progress by its token, questions to the user and lines
//     of log by the stream of the request or, where all share one, if one request for a tool, prompt, resource or completion is in
//     flight alone;
//   - a request ends at once when its context does, whether the server reads, writes or does neither.
//
// Results, definitions, questions and data of logs are passed on as the bytes that came, on one line each: only line breaks
// between values are taken out, where a server sent some. They were checked to be JSON as RFC 7493 has it (UTF-8, no name twice
// in an object) and nested no more than 256 levels. A result is an object, and has no resultType but "complete".
//
// # Not promised
//
// Nothing is checked against a schema. Requests are not put in any order. No process is started or ended here. Sampling, roots,
// URLs to be opened and tasks are not declared, and refused where a server asks for them. The older HTTP with server-sent events
// of 2024-11-05 is not spoken.
package mcpclient
