// issuer.mjs runs an authorization server for the Go tests: oidc-provider, with JWT access tokens for any resource on this
// machine, dynamic registration, and a login that approves by itself.
//
// Its one argument is JSON: {"port": 0, "jwks": {"keys": […]}, "scopes": "…", "clients": […]}. The first line of output is its
// address. The end of the input ends it.

import { createServer } from 'node:http';

import Provider from 'oidc-provider';

const { port, jwks, scopes, clients } = JSON.parse(process.argv[2]);
const server = createServer();
await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
const issuer = `http://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  jwks,
  clients,
  scopes: ['openid', 'offline_access', ...scopes.split(' ')],
  cookies: { keys: ['test'] },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  features: {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => ({
        audience: resource, scope: scopes, accessTokenTTL: 600, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'RS256' } },
      }),
    },
  },
});

// interaction logs alice in, and grants what is asked for.
async function interaction(request, response) {
  const { prompt, params, session, grantId } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    return provider.interactionFinished(request, response, { login: { accountId: 'alice' } });
  }
  const grant = grantId ? await provider.Grant.find(grantId) : new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope(params.scope ?? '');
  for (const resource of [params.resource].flat().filter(Boolean)) {
    grant.addResourceScope(resource, params.scope ?? '');
  }
  return provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

const answer = provider.callback();
server.on('request', (request, response) => {
  if (!request.url.startsWith('/interaction/')) {
    answer(request, response);
    return;
  }
  interaction(request, response).catch((error) => response.writeHead(500).end(String(error)));
});

console.log(issuer);
process.stdin.resume().on('end', () => process.exit(0));
