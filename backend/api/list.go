package api

// List is one page of anything; Next is the cursor of the following one, absent on the last.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitempty"`
}
