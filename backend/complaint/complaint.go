// Package complaint says in plain words what a JSON schema finds wrong with a value.
package complaint

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Of says what an error of jsonschema complains of, one phrase for each value that is wrong, such
// as "code is missing; limit must be 1 or more". Other errors say it themselves.
func Of(err error) string {
	wrong, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return err.Error()
	}
	english := message.NewPrinter(language.English)
	var phrases []string
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		for _, cause := range e.Causes {
			walk(cause)
		}
		if len(e.Causes) > 0 {
			return
		}
		phrases = append(phrases, phrase(e, english))
	}
	walk(wrong)
	return strings.Join(phrases, "; ")
}

// phrase is one thing that is wrong, in words for people where the library's are not.
func phrase(e *jsonschema.ValidationError, english *message.Printer) string {
	where := strings.Join(e.InstanceLocation, ".")
	if missing, ok := e.ErrorKind.(*kind.Required); ok {
		return strings.TrimPrefix(where+"."+missing.Missing[0], ".") + " is missing"
	}
	where = cmp.Or(where, "it")
	switch is := e.ErrorKind.(type) {
	case *kind.Type:
		return fmt.Sprintf("%s must be %s, not %s", where, strings.Join(is.Want, " or "), is.Got)
	case *kind.Enum:
		return fmt.Sprintf("%s must be one of %s", where, words(is.Want))
	case *kind.Minimum:
		return fmt.Sprintf("%s must be %s or more", where, is.Want.RatString())
	case *kind.Maximum:
		return fmt.Sprintf("%s must be %s or less", where, is.Want.RatString())
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("%s must be more than %s", where, is.Want.RatString())
	case *kind.MaxLength:
		return fmt.Sprintf("%s may have at most %d characters", where, is.Want)
	case *kind.Pattern:
		return fmt.Sprintf("%s must look like %s", where, is.Want)
	case *kind.MinItems:
		return fmt.Sprintf("%s must have at least %d items", where, is.Want)
	case *kind.MaxItems:
		return fmt.Sprintf("%s may have at most %d items", where, is.Want)
	}
	return where + ": " + e.ErrorKind.LocalizedString(english)
}

// words lists values as people write them.
func words(values []any) string {
	var all []string
	for _, one := range values {
		all = append(all, fmt.Sprint(one))
	}
	return strings.Join(all, ", ")
}
