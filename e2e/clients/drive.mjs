// drive.mjs puts official TypeScript clients at the disposal of the Go tests.
//
// Each line of input and of output is about a client, by the number that the input gave it. {"client": 1, "connect": {"sdk": 1,
// "transport": "stdio", "command": "…", "args": […]}} makes one, and the answer, of the id 0, says how the connection was made, or
// why it was not. Then {"client": 1, "id": 1, "method": "callTool", "params": {…}} is a request, and is answered by {"client": 1,
// "id": 1, "result": …}, or by {"client": 1, "id": 1, "error": {…}} if the client threw, which it also does where an answer does not
// fit the schema that the server declared. Requests run side by side. {"client": 1, "abort": 1} has the application give up the call
// of that id. {"client": 1, "close": true} closes the connection, and is answered by {"client": 1, "closed": true}. {"client": 1,
// "log": "…"} is what a server on stdio says on standard error. The end of the input ends the driver.
//
// With "oauth": {} in "connect", the client gets its token by the OAuth flow of the SDK (oauth.mjs), of the "scope" that stands there
// in place of what the server asks for, as the "client" that the issuer knows, or as one that it registers.
//
// With "apps": true in "connect", the client shows apps.
//
// With "follows": true in "connect", the client hears of lists that change, and of what is logged: {"changed": "tools", "listed":
// [names]} after it has listed them anew, and {"logged": …}.
//
// With "elicitation" in "connect", a capability such as {"form": {}}, the client shows forms: {"form": 1, "message": …, "schema": {…}}
// asks for the line {"form": 1, "answer": {"action": …}}, or {"form": 1, "fails": "…"} to have the client fail; {"form": 1,
// "withdrawn": true} says that nobody waits any more. These lines have the client's number too.

import { createInterface } from 'node:readline';

import { Application } from './oauth.mjs';

function failure(error) {
  return { error: { code: error.code ?? 0, message: String(error.message ?? error) } };
}

// following has a client report what it hears.
function following(config, report) {
  const onChanged = (changed) => ({ onChanged: (error, items) => report({ changed, listed: (items ?? []).map((item) => item.name) }) });
  return config.follows ? { listChanged: { tools: onChanged('tools'), prompts: onChanged('prompts'), resources: onChanged('resources') } } : {};
}

// Version 1 of the SDK speaks the revisions that begin with initialize.
async function sdk1(config, capabilities, show, report) {
  const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport } = await import('@modelcontextprotocol/sdk/client/stdio.js');
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const { SSEClientTransport } = await import('@modelcontextprotocol/sdk/client/sse.js');
  const { ElicitRequestSchema, LoggingMessageNotificationSchema } = await import('@modelcontextprotocol/sdk/types.js');
  const client = new Client({ name: 'typescript-sdk-1', version: '1' }, { capabilities, ...following(config, report) });
  if (config.elicitation) {
    client.setRequestHandler(ElicitRequestSchema, (request, extra) => show(request, extra.signal));
  }
  if (config.follows) {
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => report({ logged: params }));
  }
  return { client, StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport };
}

// Version 2 also speaks 2026-07-28, where every request stands alone.
async function sdk2(config, capabilities, show, report) {
  const { Client, StreamableHTTPClientTransport, SSEClientTransport } = await import('@modelcontextprotocol/client');
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio');
  const versionNegotiation = { mode: config.pin ? { pin: config.pin } : 'legacy' };
  const client = new Client({ name: 'typescript-sdk-2', version: '2' }, { capabilities, versionNegotiation, ...following(config, report) });
  if (config.elicitation) {
    client.setRequestHandler('elicitation/create', (request, context) => show(request, context.mcpReq.signal));
  }
  if (config.follows) {
    client.setNotificationHandler('notifications/message', ({ params }) => report({ logged: params }));
  }
  return { client, StdioClientTransport, StreamableHTTPClientTransport, SSEClientTransport };
}

function transport(sdk, config, report, application) {
  if (config.transport === 'stdio') {
    const { command, args, env } = config;
    const stdio = new sdk.StdioClientTransport({ command, args, env, stderr: 'pipe' });
    stdio.stderr.on('data', (chunk) => report({ log: String(chunk) }));
    return stdio;
  }
  const options = application ? { authProvider: application } : { requestInit: { headers: { Authorization: `Bearer ${config.token}` } } };
  const Transport = config.transport === 'sse' ? sdk.SSEClientTransport : sdk.StreamableHTTPClientTransport;
  return new Transport(new URL(config.url), options);
}

// How long a call may take, in milliseconds: the client's own minute is short for
// fifty at once on a busy machine.
const patience = 10 * 60 * 1000;

// connected is a client; what it returns takes the lines about it.
async function connected(config, report) {
  const forms = new Map(); // that wait for an answer
  let formsShown = 0;
  const calls = new Map(); // the controllers of those that are not answered

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

  const capabilities = config.elicitation ? { elicitation: config.elicitation } : {};
  if (config.apps) {
    capabilities.extensions = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
  }
  const sdk = await (config.sdk === 2 ? sdk2 : sdk1)(config, capabilities, show, report);
  const client = sdk.client;

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

  const application = config.oauth ? new Application(config.oauth) : undefined;
  let over = transport(sdk, config, report, application);
  try {
    await client.connect(over);
  } catch (error) {
    if (!application?.answer) {
      throw error;
    }
    // The user has approved: the code that came back is exchanged, and the connection made with the token.
    await (config.sdk === 2 ? over.finishAuth(application.answer) : over.finishAuth(application.answer.get('code')));
    await client.close();
    over = transport(sdk, config, report, application);
    await client.connect(over);
  }
  report({
    result: {
      oauth: application && { steps: application.steps, asked: application.asked, token: application.kept?.access_token, id_token: application.kept?.id_token },
      protocolVersion: client.getNegotiatedProtocolVersion?.() ?? client.transport?.protocolVersion ?? '',
      server: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    },
  });
  return async (said) => {
    if (said.form) {
      answer(said);
    } else if (said.abort) {
      calls.get(said.abort)?.abort();
    } else if (said.close) {
      await client.close();
      report({ closed: true });
    } else {
      await run(said);
    }
  };
}

const clients = new Map(); // by number: a promise of what takes its lines

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const said = JSON.parse(line);
  const report = (value) => process.stdout.write(JSON.stringify({ client: said.client, ...value }) + '\n');
  if (said.connect) {
    clients.set(said.client, connected(said.connect, report));
  }
  clients.get(said.client)
    .then((take) => said.connect || take(said))
    .catch((error) => report(said.close ? { closed: true } : failure(error))); // not waited for
}
process.exit();
