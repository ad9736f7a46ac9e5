package conformance_test

// exception is what is expected to fail in a scenario, and why. The link is to the suite's own issue about it.
type exception struct {
	checks    []string
	why, link string
}

// undeclared is the suite's issue about scenarios for what a server never declared, deprecated the one about those for what
// 2026-07-28 has deprecated.
const (
	undeclared = "https://github.com/modelcontextprotocol/conformance/issues/516"
	deprecated = "https://github.com/modelcontextprotocol/conformance/issues/439"
)

// expectedOf are the scenarios that do not apply, or of which something fails.
func expectedOf(revision string) map[string]exception { return nil }

// fixturesOf is what fails of a scenario for want of what the embedded server offers.
func fixturesOf(name string) exception { return exception{} }

// withoutFixtures are the scenarios that ask for nothing that a server would have to offer for the suite.
func withoutFixtures(revision string) []string {
	return nil
}
