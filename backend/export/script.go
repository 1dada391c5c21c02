package export

import (
	"bufio"
	"fmt"
	"strings"
	"time"

	"github.com/forevervm/desktop/backend/machine"
)

// script writes the code alone, in the cells that editors know. What did not work, or is undone, is
// there as comments.
type script struct{ out *bufio.Writer }

func (s *script) begin(m machine.Machine, at time.Time) {
	fmt.Fprintf(s.out, "# %s\n# Machine %s, exported by ForeverVM on %s.\n", line(title(m)), line(m.Name), at.Format("2 January 2006"))
}

func (s *script) step(st step) {
	fmt.Fprintf(s.out, "\n# %%%% %s\n", heading(st.Instruction))
	if told := remark(st.Instruction); told != "" {
		fmt.Fprintf(s.out, "# %s\n", told)
	}
	for _, l := range strings.Split(strings.TrimRight(normal(st.Code), "\n"), "\n") {
		if !worked(st.Instruction) || isMagic(l) {
			l = "# " + l
		}
		fmt.Fprintln(s.out, l)
	}
}

func (s *script) end() {}

// isMagic tells IPython's own commands, which are no Python. Inside a text of several lines it may
// be wrong, and comments out too much.
func isMagic(l string) bool {
	l = strings.TrimLeft(l, " \t")
	return strings.HasPrefix(l, "%") || strings.HasPrefix(l, "!")
}
