package store

import (
	"context"
	"encoding/json"
	"math"

	"github.com/forevervm/desktop/backend/machine"
)

// resultPlace is where a result stands among the items of its instruction: behind all of them.
const resultPlace = math.MaxInt32

// isPlot tells a picture, or a figure that is drawn from its data, from what else is shown.
const isPlot = `(f.forms LIKE '%"image/%' OR f.forms LIKE '%"application/vnd.plotly.%')`

// Plots returns a page of what a machine's instructions have drawn, newest first, the data left
// out. What was cleared, or drawn again in its place, is not among it.
func (s *Store) Plots(ctx context.Context, id machine.ID, q machine.PlotQuery) (machine.Page[machine.Plot], error) {
	seq, place := math.MaxInt32, resultPlace
	if q.Before != nil {
		if seq, place = q.Before.Seq, q.Before.Item; place < 0 {
			place = resultPlace
		}
	}
	var page machine.Page[machine.Plot]
	err := s.each(ctx, `SELECT n.seq AS seq, f.idx AS place, f.at, f.forms FROM items f JOIN instructions n ON n.id = f.instruction
			WHERE n.machine = ?1 AND (n.seq, f.idx) < (?2, ?3) AND f.kind = 'display' AND `+isPlot+`
			AND NOT EXISTS (SELECT 1 FROM items c WHERE c.instruction = f.instruction AND c.idx > f.idx AND
				(c.kind = 'clear' AND (c.flags & ?5 = 0 OR EXISTS (SELECT 1 FROM items l WHERE l.instruction = c.instruction AND l.idx > c.idx))
				OR c.kind = 'display' AND f.display_id <> '' AND c.display_id = f.display_id))
		UNION ALL SELECT f.seq, ?6, f.ended_at, f.forms FROM instructions f
			WHERE f.machine = ?1 AND (f.seq, ?6) < (?2, ?3) AND f.ended_at IS NOT NULL AND `+isPlot+`
		ORDER BY seq DESC, place DESC LIMIT ?4 + 1`,
		[]any{id, seq, place, q.Limit, flagWait, resultPlace}, func(r scanner) (bool, error) {
			var p machine.Plot
			var at int64
			var forms string
			if err := r.Scan(&p.Seq, &p.Item, &at, &forms); err != nil {
				return false, err
			}
			if len(page.Items) == q.Limit {
				page.Next = page.Items[q.Limit-1].PlotPlace.String()
				return false, nil
			}
			if p.Item == resultPlace {
				p.Item = -1
			}
			p.At = fromNano(at)
			var shapes []form
			if err := json.Unmarshal([]byte(forms), &shapes); err != nil {
				return false, err
			}
			for _, f := range shapes {
				p.Representations = append(p.Representations, machine.Representation{MIME: f.mime, Omitted: f.size})
			}
			page.Items = append(page.Items, p)
			return true, nil
		})
	return page, err
}
