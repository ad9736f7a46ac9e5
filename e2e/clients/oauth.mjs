// oauth.mjs is what an application gives to the SDKs' OAuth flow: where tokens are kept, and a browser whose user approves
// whatever is asked for.

const redirect = 'http://127.0.0.1:9/callback'; // nobody is there: the browser stops before it

export class Application {
  constructor(config) {
    this.config = config;
    this.steps = []; // what was done, in order
    this.client = config.client && { client_id: config.client }; // one that the issuer knows already
  }

  get redirectUrl() {
    return redirect;
  }

  get clientMetadata() {
    return {
      client_name: 'e2e', redirect_uris: [redirect], grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'],
      token_endpoint_auth_method: 'none',
    };
  }

  clientInformation() {
    return this.client;
  }

  saveClientInformation(client) {
    if (!this.client) {
      this.steps.push('registered');
    }
    this.client = client;
  }

  tokens() {
    return this.kept;
  }

  saveTokens(tokens) {
    this.steps.push('token');
    this.kept = tokens;
  }

  saveDiscoveryState(state) {
    this.discovered = state;
  }

  discoveryState() {
    return this.discovered;
  }

  codeVerifier() {
    return this.verifier;
  }

  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }

  // redirectToAuthorization follows the redirects of the issuer to ours, with its cookies.
  async redirectToAuthorization(url) {
    if (this.config.scope) {
      url.searchParams.set('scope', this.config.scope);
    }
    this.asked = Object.fromEntries(url.searchParams);
    const cookies = new Map();
    for (let at = url.href, hops = 0; hops < 12; hops++) {
      const response = await fetch(at, { redirect: 'manual', headers: { cookie: [...cookies].map(([k, v]) => `${k}=${v}`).join('; ') } });
      for (const cookie of response.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
        cookies.set(name, value);
      }
      const next = response.headers.get('location');
      if (!next) {
        throw new Error(`the issuer ends with ${response.status}: ${await response.text()}`);
      }
      at = new URL(next, at).href;
      if (at.startsWith(redirect)) {
        this.steps.push('approved');
        this.answer = new URL(at).searchParams;
        return;
      }
    }
    throw new Error('the issuer redirects for ever');
  }
}
