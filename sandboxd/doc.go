// Package sandboxd has the operations of the control API, one method of Service
// each: who may call it, what it changes, in one transaction with the entry in
// the audit record.
//
// It knows nothing of HTTP: package api decodes a request, calls one method and
// encodes what that returns. It starts no sandbox: what runs is behind Runs.
// Errors that a caller may read are *fault.Error; every other error is a fault
// of the service.
//
// Security promise: an organisation sees and changes what is its own and
// nothing else; what belongs to another one doesn't exist for it.
package sandboxd
