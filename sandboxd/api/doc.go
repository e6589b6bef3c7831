// Package api is the control API over HTTP: it decodes a request strictly,
// calls one method of sandboxd.Service and encodes what that returns. It has no
// logic of its own but that of HTTP: who calls (an API key), what was said
// before (Idempotency-Key, If-Match), and how an error looks.
//
// Huma describes the operations, so that the OpenAPI document at
// /v1/openapi.json and the router are made of the same declarations, and reads
// paths and query parameters. Bodies are read by package strict instead, for
// which an unknown or repeated member is an error and null isn't the same as
// nothing.
//
// New returns the handler, Server an http.Server with the time-outs that belong
// to it.
//
// Security promise: nothing but the document, the schemas and the health check
// answers without a valid key; every error has one shape and, where it is ours,
// no cause; an answer never tells whether another organisation has something.
package api
