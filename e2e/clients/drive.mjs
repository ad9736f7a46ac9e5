// drive.mjs puts an official TypeScript client at the disposal of the Go tests.
//
//   node drive.mjs '{"sdk": 1, "transport": "stdio", "command": "…", "args": […]}'
//
// The first line of output says how the connection was made, or why it was
// not. Then each line of input is a request, {"id": 1, "method": "callTool",
// "params": {…}}, and is answered by one line: {"id": 1, "result": …}, or {"id":
// 1, "error": {…}} if the client threw, which it also does where an answer does
// not fit the schema that the server declared. Requests run side by side. The
// line {"abort": 1} has the application give up the call of that id. The end of
// the input closes the connection.
//
// With "elicitation" in the argument, a capability such as {"form": {}}, the
// client shows forms: {"form": 1, "message": …, "schema": {…}} asks for the line
// {"form": 1, "answer": {"action": …}}, or {"form": 1, "fails": "…"} to have the
// client fail; {"form": 1, "withdrawn": true} says that nobody waits any more.

import { createInterface } from 'node:readline';

const config = JSON.parse(process.argv[2]);

function report(value) {
  process.stdout.write(JSON.stringify(value) + '\n');
}

const capabilities = config.elicitation ? { elicitation: config.elicitation } : {};
const forms = new Map(); // that wait for an answer
let formsShown = 0;

// show has the Go side fill in a form.
function show({ params }, signal) {
  const form = ++formsShown;
  report({ form, message: params.message, schema: params.requestedSchema });
  signal?.addEventListener('abort', () => report({ form, withdrawn: true }));
  return new Promise((resolve, reject) => forms.set(form, { resolve, reject }));
}

function answer({ form, answer, fails }) {
  const waiting = forms.get(form);
  forms.delete(form);
  return fails ? waiting?.reject(new Error(fails)) : waiting?.resolve(answer);
}

function failure(error) {
  return { error: { code: error.code ?? 0, message: String(error.message ?? error) } };
}

// Version 1 of the SDK speaks the revisions that begin with initialize.
async function sdk1() {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const { SSEClientTransport } = await import('@modelcontextprotocol/sdk/client/sse.js');
  const { ElicitRequestSchema } = await import('@modelcontextprotocol/sdk/types.js');
  const client = new Client({ name: 'typescript-sdk-1', version: '1' }, { capabilities });
  if (config.elicitation) {
    client.setRequestHandler(ElicitRequestSchema, (request, extra) => show(request, extra.signal));
  }
  return { client, StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport };
}

// Version 2 also speaks 2026-07-28, where every request stands alone.
async function sdk2() {
  const { Client, StreamableHTTPClientTransport, SSEClientTransport } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const versionNegotiation = { mode: config.pin ? { pin: config.pin } : 'legacy' };
  const client = new Client({ name: 'typescript-sdk-2', version: '2' }, { capabilities, versionNegotiation });
  if (config.elicitation) {
    client.setRequestHandler('elicitation/create', (request, context) => show(request, context.mcpReq.signal));
  }
  return { client, StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport };
}

function transport(sdk) {
  if (config.transport === 'stdio') {
    const { command, args, env } = config;
    return new sdk.StdioClientTransport({ command, args, env, stderr: 'inherit' });
  }
  const options = { requestInit: { headers: { Authorization: `Bearer ${config.token}` } } };
  const Transport = config.transport === 'sse' ? sdk.SSEClientTransport : sdk.StreamableHTTPClientTransport;
  return new Transport(new URL(config.url), options);
}

const sdk = await (config.sdk === 2 ? sdk2() : sdk1());
const client = sdk.client;
try {
  await client.connect(transport(sdk));
} catch (error) {
  report(failure(error));
  process.exit(1);
}
report({
  result: {
    protocolVersion: client.getNegotiatedProtocolVersion?.() ?? client.transport?.protocolVersion ?? '',
    server: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
  },
});

// How long a call may take, in milliseconds: the client's own minute is short for
// fifty at once on a busy machine.
const patience = 10 * 60 * 1000;

const calls = new Map(); // the controllers of those that are not answered

// call calls a tool as an application does that shows progress and can give up.
async function call(id, params) {
  const progress = [];
  calls.set(id, new AbortController());
  const options = { onprogress: (p) => progress.push(p), timeout: patience, signal: calls.get(id).signal };
  const result = config.sdk === 2 ? await client.callTool(params, options) : await client.callTool(params, undefined, options);
  return { ...result, progress };
}

async function run({ id, method, params }) {
  try {
    report({ id, result: (await (method === 'callTool' ? call(id, params) : client[method](params))) ?? null });
  } catch (error) {
    report({ id, ...failure(error) });
  } finally {
    calls.delete(id);
  }
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const said = JSON.parse(line);
  if (said.form) {
    answer(said);
  } else if (said.abort) {
    calls.get(said.abort)?.abort();
  } else {
    run(said); // not waited for
  }
}
await client.close();
