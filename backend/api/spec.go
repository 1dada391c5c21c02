package api

import _ "embed"

// Spec is openapi.yaml, the description of the API.
//
//go:embed openapi.yaml
var Spec []byte
