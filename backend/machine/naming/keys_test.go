package naming

import (
	"strings"
	"testing"
)

func TestTypedKeysAreSeen(t *testing.T) {
	for code, want := range map[string]string{
		`client = OpenAI(api_key="sk-proj-` + strings.Repeat("a1", 20) + `")`: "OpenAI",
		`key = "sk-ant-api03-` + strings.Repeat("b2", 20) + `"`:               "Anthropic",
		`auth = "ghp_` + strings.Repeat("c1", 18) + `"`:                       "GitHub",
		`AWS_KEY = "AKIAIOSFODNN7EXAMPLE"`:                                    "AWS",
		"k = '''-----BEGIN RSA PRIVATE KEY-----\nMII'''":                      "SSH or TLS",
		`os.environ["OPENAI_API_KEY"]`:                                        "",
		`key = "sk-forevervm` + strings.Repeat("0f", 16) + `"`:                "",
		`task-force-of-many-people-from-everywhere`:                           "",
		`desk-chair-and-table-of-the-room-next-door`:                          "",
		`sk-learn-pipeline-for-everything-else`:                               "",
		strings.Repeat("x", keysWithin) + "AKIAIOSFODNN7EXAMPLE":              "",
		"": "",
	} {
		if got := TypedKey(code); got != want {
			t.Errorf("%.60q holds a key of %q, want %q", code, got, want)
		}
	}
}
