package conformance_test

// exception is what is expected to fail in a scenario, or to be skipped, why, and the suite's own issue about it.
type exception struct {
	checks    []string
	why, link string
}

const (
	// undeclared is about scenarios that fail servers for what they never declared, deprecated about those that a server which
	// has taken up nothing that 2026-07-28 deprecates (SEP-2577) cannot pass.
	undeclared = "https://github.com/modelcontextprotocol/conformance/issues/516"
	deprecated = "https://github.com/modelcontextprotocol/conformance/issues/439"
)

// expectedOf are the scenarios of a revision that do not apply to the embedded server, by what fails for that.
func expectedOf(revision string) map[string]exception {
	if revision == initialize {
		return map[string]exception{
			"logging-set-level": {[]string{"logging-set-level"},
				"logging is not declared; new implementations should not adopt it (SEP-2577)", undeclared},
			"tools-call-with-logging": {[]string{"tools-call-with-logging"},
				"logging is not declared; new implementations should not adopt it (SEP-2577)", undeclared},
			"tools-call-sampling": {[]string{"tools-call-sampling"},
				"the server asks for no sampling; new implementations should not adopt it (SEP-2577)", deprecated},
			"resources-subscribe":   {[]string{"resources-subscribe"}, "resources.subscribe is not declared", undeclared},
			"resources-unsubscribe": {[]string{"resources-unsubscribe"}, "resources.subscribe is not declared", undeclared},
		}
	}
	return map[string]exception{
		"input-required-result-basic-sampling": {[]string{"sep-2322-sampling-incomplete"},
			"the server asks for no sampling; new implementations should not adopt it (SEP-2577)", deprecated},
		"input-required-result-basic-list-roots": {[]string{"sep-2322-list-roots-incomplete"},
			"the server asks for no roots; new implementations should not adopt them (SEP-2577)", deprecated},
		"input-required-result-multiple-input-requests": {[]string{"sep-2322-multiple-inputs-incomplete"},
			"it demands sampling and roots in one", deprecated},
		"input-required-result-capability-check": {[]string{"sep-2322-respect-client-capabilities"},
			"it demands a question to a client that declares sampling alone", deprecated},
		"input-required-result-non-tool-request": {[]string{"sep-2322-non-tool-incomplete"},
			"prompts ask nothing; a server may, and need not", undeclared},
		"server-stateless": {append(subscribing(), "sep-2575-server-rejects-undeclared-capability"),
			"it demands that sampling is what is missing; here it is elicitation. No list changes, so there is nothing to listen to", deprecated},
		"http-custom-header-server-validation": {[]string{
			"sep-2243-server-no-xmcp-tool", "sep-2243-server-decode-base64", "sep-2243-server-validate-param-match",
			"sep-2243-server-reject-invalid-param-chars", "sep-2243-server-reject-param-mismatch",
		}, "no tool asks for arguments in headers (x-mcp-header), which is optional for servers", undeclared},
	}
}

// withoutFixtures are the scenarios that need nothing which a server would have to offer for the suite.
func withoutFixtures(revision string) []string {
	both := []string{
		"completion-complete", "dns-rebinding-protection", "prompts-list", "resources-list", "server-sse-multiple-streams", "tools-list",
	}
	if revision == initialize {
		return append(both, "ping", "server-initialize", "server-session-lifecycle")
	}
	return append(both, "caching", "http-header-validation", "input-required-result-unsupported-methods", "sep-2164-resource-not-found", "server-stateless")
}

// fixturesOf is what fails in one of these for want of a tool that the embedded server has.
func fixturesOf(name string) exception {
	if name != "server-stateless" {
		return exception{}
	}
	return exception{append(subscribing(),
		"sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400",
		"sep-2575-http-server-no-independent-requests-on-stream", "sep-2575-server-no-log-without-loglevel",
	), "it needs tools of the suite. No list changes, so there is nothing to listen to", undeclared}
}

// subscribing are the checks of server-stateless that the suite skips where nothing is delivered by subscription.
func subscribing() []string {
	return []string{
		"sep-2575-server-sends-subscription-ack", "sep-2575-server-tags-subscription-id", "sep-2575-server-honors-notification-filter",
		"sep-2575-server-sends-prompts-list-changed-on-subscription", "sep-2575-server-sends-tools-list-changed-on-subscription",
	}
}
