// Package api holds the JSON types of the daemon's own API under /api: a leaf, shared by the server
// and the client. openapi.yaml describes the API, and `make generate` makes the types of it. Times
// are RFC 3339, UTC; sizes are bytes.
package api

import _ "embed"

// Spec is openapi.yaml, the description of the API.
//
//go:embed openapi.yaml
var Spec []byte
