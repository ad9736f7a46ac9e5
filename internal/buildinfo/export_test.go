package buildinfo

// From exposes from to the tests.
var From = from
