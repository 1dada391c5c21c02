package naming

import (
	"regexp"
	"strings"
)

// keysWithin is how many bytes of code are looked at for keys.
const keysWithin = 256 << 10

// keyKinds are how keys of services look that say so themselves.
var keyKinds = []struct {
	kind string
	in   *regexp.Regexp
}{
	{"Anthropic", regexp.MustCompile(`\bsk-ant-[\w-]{20,}`)},
	{"OpenAI", regexp.MustCompile(`\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}`)},
	{"GitHub", regexp.MustCompile(`\b(?:gh[opsur]_[A-Za-z0-9]{36}|github_pat_\w{22,})`)},
	{"GitLab", regexp.MustCompile(`\bglpat-[\w-]{20,}`)},
	{"Slack", regexp.MustCompile(`\bxox[abeoprs]-[\w-]{10,}`)},
	{"AWS", regexp.MustCompile(`\bA(?:KIA|SIA)[A-Z0-9]{16}\b`)},
	{"Google", regexp.MustCompile(`\bAIza[\w-]{35}`)},
	{"Hugging Face", regexp.MustCompile(`\bhf_[A-Za-z0-9]{30,}`)},
	{"Stripe", regexp.MustCompile(`\b[rs]k_(?:live|test)_[A-Za-z0-9]{20,}`)},
	{"SendGrid", regexp.MustCompile(`\bSG\.[\w-]{20,}\.[\w-]{20,}`)},
	{"ForeverVM", regexp.MustCompile(`\bforevervm_[\w.-]{20,}`)},
	{"SSH or TLS", regexp.MustCompile(`-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----`)},
}

// TypedKey says whose key code holds, as far as it looks like one; "" where it holds none.
// Placeholders of secrets are none.
func TypedKey(code string) string {
	code = code[:min(len(code), keysWithin)]
	for _, k := range keyKinds {
		for _, found := range k.in.FindAllString(code, 10) {
			isPlaceholder := strings.Contains(found, "-forevervm") || strings.Contains(found, "_forevervm")
			isWords := !strings.ContainsAny(found, "0123456789") && !strings.HasPrefix(found, "---")
			if !isPlaceholder && !isWords {
				return k.kind
			}
		}
	}
	return ""
}
