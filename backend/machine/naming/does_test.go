package naming

import (
	"slices"
	"strings"
	"testing"
)

func TestWhatCodeDoes(t *testing.T) {
	for code, want := range map[string]string{
		"import pandas as pd\ndf = pd.read_csv('/root/inbox/sales.csv')\ndf.head()":                                    "reads sales.csv",
		"import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('x')\nplt.savefig(\"outbox/a.png\")\nplt.show()": "draws, saves a.png",
		"%pip install -q polars httpx": "installs polars httpx",
		"!pip install rich":            "installs rich",
		"import requests\nr = requests.get(f'https://api.x.org/v1?q={q}')": "fetches api.x.org",
		"m = LinearRegression().fit(X, y)":                                 "fits",
		"with open('a.txt', 'w') as f:\n    f.write('x')":                  "saves a.txt",
		"for n in names:\n    print(open('b.txt').read())":                 "reads b.txt",
		"def double(x):\n    return 2 * x\nclass Thing: pass\ny = 1":       "defines double Thing",
		"total = sum(x)\nmean: float = total / 3\n_hidden = 1\nx == 3":     "computes total mean",
		"df.head(20)":                     "shows df",
		"import numpy as np, os":          "loads numpy",
		"# plt.plot(1)\nprint('hello')":   "",
		`"""` + "\nplt.plot(1)\n" + `"""`: "",
		"a.to_csv('\u202egpj.exe')":       "saves gpj.exe",
		"":                                "",
	} {
		var got []string
		for _, act := range Does(code) {
			got = append(got, strings.Join(append([]string{string(act.What)}, act.Names...), " "))
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%q: %q, want %q", code, text, want)
		}
	}
	many := strings.Repeat("pd.read_csv('a.csv'); plt.plot(); x.fit(1); y.to_csv('b.csv'); requests.get('https://c.d')\n", 10_000)
	if acts := Does(many); len(acts) != maxActs {
		t.Errorf("%v", acts)
	}
	if says := []string{Says("# Sales by month\nx = 1"), Says("x = 1"), Summary("  Draws\n the\u202e chart "), Summary(strings.Repeat("a b ", 100))}; !slices.Equal(says[:3], []string{"Sales by month", "", "Draws the chart"}) || len([]rune(says[3])) > maxSummary {
		t.Errorf("%q", says)
	}
}

func FuzzDoes(f *testing.F) {
	f.Add("df = pd.read_csv('a.csv')\nplt.plot(df)")
	f.Fuzz(func(t *testing.T, code string) {
		for _, act := range Does(code) {
			for _, name := range act.Names {
				if len([]rune(name)) > maxName || strings.ContainsAny(name, "\n\u202e") {
					t.Errorf("%q", name)
				}
			}
		}
	})
}

func TestAShortSummaryIsKept(t *testing.T) {
	for said, want := range map[string]string{"Add": "Add", "画图": "画图", " \n": "", "?!": "", strings.Repeat("a", 200): strings.Repeat("a", 119) + "…"} {
		if got := Summary(said); got != want {
			t.Errorf("%q is shown as %q", said, got)
		}
	}
}
