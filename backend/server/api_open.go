package server

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"sync"
	"time"

	"github.com/forevervm/desktop/backend/access"
	"github.com/forevervm/desktop/backend/api"
)

// newOpenCode makes a code with which a browser can open the page: the token itself must not stand
// in an address.
func (s *Server) newOpenCode(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, api.OpenCode{Code: s.codes.issue()})
}

// redeemOpenCode gives the token for a code.
func (s *Server) redeemOpenCode(w http.ResponseWriter, r *http.Request) error {
	var body api.OpenCode
	if err := readJSON(w, r, &body); err != nil {
		return err
	}
	if s.codes.redeem(body.Code) {
		return writeJSON(w, http.StatusOK, api.OpenToken{Token: s.config.Token})
	}
	return &failure{http.StatusForbidden, "WrongCode", "This link was used before or is too old. Open ForeverVM's page again, from its menu or with `forevervm open`."}
}

const (
	codeLife = time.Minute
	maxCodes = 32 // waiting at once; the oldest goes
)

// openCodes are single-use codes that wait to be redeemed. The zero value is ready.
type openCodes struct {
	mu      sync.Mutex
	waiting []openCode // oldest first
}

type openCode struct {
	code string
	dies time.Time
}

// issue makes a code of 128 bits, which nobody guesses in a minute: attempts are not counted, for
// anyone who made wrong ones would lock the person out.
func (c *openCodes) issue() string {
	var secret [16]byte
	_, _ = rand.Read(secret[:]) // never fails
	code := base64.RawURLEncoding.EncodeToString(secret[:])
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	if len(c.waiting) == maxCodes {
		c.waiting = c.waiting[1:]
	}
	c.waiting = append(c.waiting, openCode{code: code, dies: time.Now().Add(codeLife)})
	return code
}

// redeem says whether a code is right, which it is once.
func (c *openCodes) redeem(code string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	found := -1
	for i, waiting := range c.waiting { // all of them, so that the time tells nothing
		if access.Same(waiting.code, code) {
			found = i
		}
	}
	if found < 0 {
		return false
	}
	c.waiting = append(c.waiting[:found], c.waiting[found+1:]...)
	return true
}

// expire forgets what is too old. Called with mu held.
func (c *openCodes) expire() {
	now := time.Now()
	for len(c.waiting) > 0 && !now.Before(c.waiting[0].dies) {
		c.waiting = c.waiting[1:]
	}
}
