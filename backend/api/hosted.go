package api

// Hosted says who is signed in at the hosted service. The token is never in it.
type Hosted struct {
	SignedIn        bool            `json:"signed_in"`
	Server          string          `json:"server"`            // of the account, or the usual one
	Account         string          `json:"account,omitempty"` // as the service calls it
	Token           string          `json:"token,omitempty"`   // "fvm_…" and its last four characters, to tell tokens apart
	Problem         string          `json:"problem,omitempty"` // a sentence: why the machines there cannot be used now
	FromEnvironment bool            `json:"from_environment"`  // FOREVERVM_TOKEN decides; signing in and out is not possible
	Accounts        []HostedAccount `json:"accounts"`          // all whose tokens are kept
	Official        *HostedOfficial `json:"official,omitempty"`
}

// HostedAccount is one account of one service.
type HostedAccount struct {
	Server  string `json:"server"`
	Account string `json:"account"`
}

// HostedOfficial is a token that the official command line keeps, in clear.
type HostedOfficial struct {
	Path   string `json:"path"`
	Server string `json:"server"`
	Token  string `json:"token"` // as in Hosted
}

// HostedLogin is the body of POST /api/hosted/login: a token, or Official for the one that the official command line keeps.
type HostedLogin struct {
	Server   string `json:"server,omitempty"`
	Token    string `json:"token,omitempty"`
	Official bool   `json:"official,omitempty"`
}

// HostedSignup is the body of POST /api/hosted/signup.
type HostedSignup struct {
	Server  string `json:"server,omitempty"`
	Email   string `json:"email"`
	Account string `json:"account"`
}
