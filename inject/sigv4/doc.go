// Package sigv4 signs requests anew that a sandbox signed with its placeholders
// (AWS Signature Version 4). The client's signature says what is meant: date,
// service, region and signed headers are its own; key, session token and
// signature are replaced, in the header, in a presigned URL and in the chunks
// of a signed stream.
//
// The hash of the payload that the client names is kept: the server holds the
// body against it. Where none is named the body is read, as far as that is
// bounded. Streams keep their length, so nothing but one chunk is held.
//
// The SDK's signer computes what it can; the signature of a trailer, which it
// doesn't know, is computed here.
//
// Promise: a signature is made only for the services and regions of the
// binding, and no request leaves with the placeholder for a key.
package sigv4
