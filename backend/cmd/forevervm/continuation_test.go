package main

import "testing"

func TestComplete(t *testing.T) {
	for code, want := range map[string]bool{
		"1+1":                              true,
		"":                                 true,
		"print(1":                          false,
		"print(1,\n2)":                     true,
		"x = [1,":                          false,
		"x = [1, # ]":                      false,
		`"unclosed`:                        true, // the machine says what is wrong with it
		`s = """a`:                         false,
		"s = \"\"\"a\nb\"\"\"":             true,
		"s = '''it's (":                    false,
		`x = 1 + \`:                        false,
		"x = 1 + \\\n1":                    true,
		"for i in range(3):":               false,
		"for i in range(3):\n  print(i)":   false,
		"for i in range(3):\n  print(i)\n": true,
		"for i in range(3): print(i)":      true,
		"def f(x):\n  if x:\n    return 1\n\n  return 2\n": true,
		"@cache":                         false,
		"@cache\ndef f():":               false,
		"@cache\ndef f():\n  return 1\n": true,
		"if x: # why":                    false,
		`d = {"a": 1}`:                   true,
		`d = "a:"`:                       true,
		"x = d[1:]":                      true,
		"lambda x: (":                    false,
		`r"\""`:                          true,
		"a)":                             true,
		"%pip install x":                 true,
		"!ls":                            true,
		"# only a comment":               true,
		"class A:\n  pass\n":             true,
		"try:\n  f()\nexcept E:":         false,
	} {
		if got := complete(code); got != want {
			t.Errorf("complete(%q) = %v, want %v", code, got, want)
		}
	}
}
