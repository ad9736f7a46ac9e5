package conformance_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"

	"github.com/intentgov/orchestra-mcp/internal/check"
)

// withToken stands before a server and adds the token, which the suite cannot bear. All else passes as it is, Host and Origin
// among it: the server judges them, and not what is between.
func withToken(t *testing.T, server, token string) (address string) {
	t.Helper()
	target := check.Value(url.Parse(server))(t)
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1, // streams are passed on as they come
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = target.Scheme, target.Host, r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+token)
		},
		ModifyResponse: func(r *http.Response) error {
			check.That(t, r.StatusCode != http.StatusUnauthorized, "the server does not take the token")
			// The suite gives a stream up once it has the answer, and its Node then now and then closes what the next request is on.
			r.Header.Set("Connection", "close")
			return nil
		},
	})
	t.Cleanup(proxy.Close)
	return proxy.URL + "/mcp"
}
