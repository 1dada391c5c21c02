package credentials

import (
	"errors"
	"regexp"
	"unicode"
)

var email = regexp.MustCompile(`^[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}$`)

// CheckSignup checks what an account is asked for with, as the official programs do. The error is a
// sentence.
func CheckSignup(address, account string) error {
	if !email.MatchString(address) {
		return errors.New("are you sure that is a valid e-mail address?")
	}
	fits := len(account) >= 3 && len(account) <= 16
	for _, r := range account {
		fits = fits && (unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_' || r == '-')
	}
	if !fits {
		return errors.New("account names must be between 3 and 16 characters, and can only contain letters, digits, underscores and hyphens (upper and lower case are the same)")
	}
	return nil
}
