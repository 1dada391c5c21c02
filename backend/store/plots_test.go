package store

import (
	"errors"
	"slices"
	"testing"

	"github.com/forevervm/desktop/backend/machine"
)

func TestPlotsAreWhatIsStillShown(t *testing.T) {
	s := openNew(t)
	picture := []machine.Representation{{MIME: "text/plain", Data: []byte("<Figure>")}, {MIME: "image/png", Data: []byte{1, 2, 3}}}
	figure := []machine.Representation{{MIME: "application/vnd.plotly.v1+json", Data: []byte("{}")}}
	table := []machine.Representation{{MIME: "text/html", Data: []byte(`<img src="image/png">`)}}
	next := 0
	item := func(kind machine.ItemKind, change func(*machine.Item)) machine.StoredItem {
		it := machine.Item{Index: next, Kind: kind, At: at(next), Stream: "stdout"}
		next++
		if change != nil {
			change(&it)
		}
		return machine.StoredItem{Item: it}
	}
	display := func(forms []machine.Representation, id string) machine.StoredItem {
		return item(machine.ItemDisplay, func(it *machine.Item) { it.Representations, it.DisplayID, it.Update = forms, id, id != "" })
	}
	clear := func(wait bool) machine.StoredItem {
		return item(machine.ItemClear, func(it *machine.Item) { it.Wait = wait })
	}
	text := func() machine.StoredItem {
		return item(machine.ItemOutput, func(it *machine.Item) { it.Text = []byte(`"image/png"`) })
	}
	steps := [][]machine.StoredItem{
		{display(picture, ""), text(), display(table, ""), display(figure, "")},          // 0 and 3
		{display(picture, ""), clear(false), display(picture, ""), clear(true)},          // the second: the last clear waits for something
		{display(picture, ""), clear(true), text()},                                      // none
		{display(picture, "d"), display(picture, "e"), display(picture, "d")},            // the second and the third
		{display(picture, ""), display(picture, ""), display(picture, ""), clear(false)}, // none, but the result
	}
	value := instruction("a", 4, "x")
	ended := at(9)
	value.Data, value.EndedAt = picture, &ended
	write(t, s, func(w machine.Writer) error {
		err := errors.Join(w.PutMachine(record("a", "one")), w.PutMachine(record("b", "two")), w.AddInstruction(instruction("b", 0, "x")),
			w.AddItems("b", 0, []machine.StoredItem{display(picture, "")}))
		for seq, items := range steps {
			err = errors.Join(err, w.AddInstruction(instruction("a", seq, "x")), w.AddItems("a", seq, items))
		}
		return errors.Join(err, w.PutInstruction(value))
	})

	want := []string{"4.result", "3.13", "3.12", "1.6", "0.3", "0.0"}
	for limit := 1; limit <= 7; limit++ {
		var got []string
		q := machine.PlotQuery{Limit: limit}
		for {
			page, err := s.Plots(t.Context(), "a", q)
			ok(t, err)
			for _, p := range page.Items {
				got = append(got, p.String())
			}
			if page.Next == "" {
				break
			}
			before, err := machine.ParsePlotPlace(page.Next)
			ok(t, err)
			q.Before = &before
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d at a time: %v, want %v", limit, got, want)
		}
	}
	page, err := s.Plots(t.Context(), "a", machine.PlotQuery{Limit: 1})
	ok(t, err)
	if forms := page.Items[0].Representations; len(forms) != 2 || forms[1].MIME != "image/png" || forms[1].Size() != 3 || forms[1].Data != nil {
		t.Errorf("%+v", forms)
	}
}
