package egress

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Where services take keys. Elsewhere a placeholder stays: a service could store the key there and
// show it to others.
var (
	keyHeaders    = regexp.MustCompile(`(?i)^(?:.*-)?(?:authorization|api-?key|key|token|auth|secret)$`)
	keptHeaders   = regexp.MustCompile(`(?i)-meta-`)
	keyParameters = regexp.MustCompile(`(?i)^(?:api[-_]?key|key|(?:access|auth|api)[-_]?token|token|auth|app[-_]?id|(?:subscription|auth|access)[-_]?key)$`)
)

// mostFilled bounds how often a request has a value put into it.
const mostFilled = 8

// fill puts values where placeholders stand: where one is a whole header for keys, or all of it but
// a word before it such as Bearer; in Basic authentication; or a whole parameter for keys of the
// address. It returns the names of the secrets that it used.
func (c *carrier) fill(r *http.Request) (used []string, err error) {
	values := map[string]string{} // by placeholder
	for _, one := range c.secretsFor(c.guest, c.host) {
		if !mentions(r, one.Placeholder) {
			continue
		}
		value, err := c.secrets.Value(one.Name)
		if err != nil {
			return nil, fmt.Errorf("the secret %s cannot be used: %w", one.Name, err)
		}
		if r.Header.Get("Upgrade") != "" {
			return nil, fmt.Errorf("the secret %s cannot be used for a connection that changes its protocol, such as a WebSocket", one.Name)
		}
		values[one.Placeholder] = value
		used = append(used, one.Name)
		c.mu.Lock()
		c.sent[value] = one.Placeholder
		c.mu.Unlock()
	}
	if len(values) == 0 {
		return nil, nil
	}
	n := 0
	for name, list := range r.Header {
		if !keyHeaders.MatchString(name) || keptHeaders.MatchString(name) {
			continue
		}
		for i, text := range list {
			if list[i] = filledBasic(filled(text, values), values); list[i] != text {
				n++
			}
		}
	}
	pairs := strings.Split(r.URL.RawQuery, "&")
	for i, pair := range pairs {
		name, text, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(text); err == nil && values[plain] != "" && keyParameters.MatchString(name) {
			pairs[i] = name + "=" + url.QueryEscape(values[plain])
			n++
		}
		if n > mostFilled {
			return nil, fmt.Errorf("a request may carry secrets %d times", mostFilled)
		}
	}
	r.URL.RawQuery = strings.Join(pairs, "&")
	return used, nil
}

// mentions says whether a request may have a placeholder where it is replaced.
func mentions(r *http.Request, placeholder string) bool {
	if strings.Contains(r.URL.RawQuery, placeholder) {
		return true
	}
	for _, list := range r.Header {
		for _, text := range list {
			if strings.Contains(text, placeholder) || strings.Contains(basic(text), placeholder) {
				return true
			}
		}
	}
	return false
}

func filled(text string, values map[string]string) string {
	if value := values[text]; value != "" {
		return value
	}
	scheme, rest, _ := strings.Cut(text, " ")
	if value := values[rest]; value != "" {
		return scheme + " " + value
	}
	return text
}

// basic is who a header of Basic authentication is from, as user:password; "" for other headers.
func basic(text string) string {
	scheme, rest, _ := strings.Cut(text, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return ""
	}
	who, err := base64.StdEncoding.DecodeString(rest)
	if err != nil {
		return ""
	}
	return string(who)
}

func filledBasic(text string, values map[string]string) string {
	user, password, ok := strings.Cut(basic(text), ":")
	if !ok || values[user] == "" && values[password] == "" {
		return text
	}
	if value := values[user]; value != "" {
		user = value
	}
	if value := values[password]; value != "" {
		password = value
	}
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}
