// Package e2e runs the built programs as their users do: real daemon, real sandboxes, the published
// SDKs, an MCP client, `kill -9`. Its tests need what `make build` leaves in build/bin (or
// FOREVERVM_BIN).
package e2e
