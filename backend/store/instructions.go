package store

import (
	"context"
	"strconv"
	"strings"

	"github.com/forevervm/desktop/backend/machine"
)

// The columns in the order of scanInstruction. What is large can be left out.
const (
	instructionHead = `machine, seq, client_name, client_version, summary, timeout, formats, status, queued_at, started_at, ended_at, resumed_at,
		runtime, ran, error_name, rolled_back, notice, items, output_bytes, output_dropped, last_frame, head_end, overflow, carry_out, carry_err, key, again`
	instructionBody = `, code, value, error, error_ansi, forms, data`
	instructionBare = `, '', NULL, '', '', '', NULL`
)

func scanInstruction(r scanner) (machine.InstructionRecord, error) {
	var in machine.InstructionRecord
	var queued int64
	var started, ended, resumed *int64
	var formats, forms string
	var data []byte
	var key *string
	err := r.Scan(&in.Machine, &in.Seq, &in.Client.Name, &in.Client.Version, &in.Summary, &in.Timeout, &formats, &in.Status, &queued, &started, &ended, &resumed,
		&in.Runtime, &in.Ran, &in.ErrorName, &in.RolledBack, &in.Notice, &in.Items, &in.OutputBytes, &in.OutputDropped,
		&in.LastFrame, &in.HeadEnd, &in.Overflow, &in.CarryOut, &in.CarryErr, &key, &in.Again,
		&in.Code, &in.Value, &in.Error, &in.ErrorANSI, &forms, &data)
	if err != nil {
		return in, err
	}
	in.QueuedAt = fromNano(queued)
	in.StartedAt, in.EndedAt, in.ResumedAt = fromNanoPtr(started), fromNanoPtr(ended), fromNanoPtr(resumed)
	if key != nil {
		in.Key = *key
	}
	if formats != "" {
		in.Formats = strings.Split(formats, ",")
	}
	in.Data, err = unpack(forms, data)
	return in, err
}

// Unfinished returns what is queued or running, in order within each machine, without code.
func (s *Store) Unfinished(ctx context.Context) ([]machine.InstructionRecord, error) {
	var all []machine.InstructionRecord
	err := s.each(ctx, "SELECT "+instructionHead+instructionBare+" FROM instructions WHERE status IN ('queued', 'running') ORDER BY machine, seq", nil,
		func(r scanner) (bool, error) {
			in, err := scanInstruction(r)
			all = append(all, in)
			return true, err
		})
	return all, err
}

// Instruction returns one.
func (s *Store) Instruction(ctx context.Context, id machine.ID, seq int) (machine.InstructionRecord, error) {
	in, err := scanInstruction(s.row(ctx, "SELECT "+instructionHead+instructionBody+" FROM instructions WHERE machine = ? AND seq = ?", id, seq))
	return in, explain(err)
}

// Keyed returns the sequence number of the instruction that was sent with a key.
func (s *Store) Keyed(ctx context.Context, id machine.ID, key string) (int, error) {
	var seq int
	err := s.row(ctx, "SELECT seq FROM instructions WHERE machine = ? AND key = ?", id, key).Scan(&seq)
	return seq, explain(err)
}

// pageBytes bounds how much one page of instructions or items holds; one always fits.
const pageBytes = 8 << 20

// Instructions returns a page of a machine's.
func (s *Store) Instructions(ctx context.Context, id machine.ID, q machine.InstructionQuery) (machine.Page[machine.Instruction], error) {
	after, before := -1, int(^uint(0)>>1)
	if q.After != nil {
		after = *q.After
	}
	if q.Before != nil {
		before = *q.Before
	}
	order := " ORDER BY seq"
	if q.Newest {
		order += " DESC"
	}
	var page machine.Page[machine.Instruction]
	bytes := 0
	err := s.each(ctx, "SELECT "+instructionHead+instructionBody+" FROM instructions WHERE machine = ? AND seq > ? AND seq < ?"+order+limited,
		[]any{id, after, before, q.Limit + 1}, func(r scanner) (bool, error) {
			if len(page.Items) == q.Limit || bytes > pageBytes {
				page.Next = strconv.Itoa(page.Items[len(page.Items)-1].Seq)
				return false, nil
			}
			in, err := scanInstruction(r)
			if err != nil {
				return false, err
			}
			page.Items = append(page.Items, in.Instruction)
			bytes += len(in.Code) + len(in.Error) + len(in.ErrorANSI)
			for _, d := range in.Data {
				bytes += len(d.Data)
			}
			return true, nil
		})
	return page, err
}

// Overflows returns instructions that have an overflow file.
func (s *Store) Overflows(ctx context.Context, id machine.ID, after int) ([]machine.InstructionRecord, error) {
	var all []machine.InstructionRecord
	err := s.each(ctx, "SELECT "+instructionHead+instructionBare+" FROM instructions WHERE machine = ? AND seq > ? AND overflow > 0 ORDER BY seq LIMIT 100",
		[]any{id, after}, func(r scanner) (bool, error) {
			in, err := scanInstruction(r)
			all = append(all, in)
			return true, err
		})
	return all, err
}

// RolledBack returns which instructions up to and including last have lost their effect.
func (s *Store) RolledBack(ctx context.Context, id machine.ID, last int) ([]machine.Span, error) {
	var spans []machine.Span
	err := s.each(ctx, "SELECT seq FROM instructions WHERE machine = ? AND seq <= ? AND rolled_back <> 0 ORDER BY seq", []any{id, last},
		func(r scanner) (bool, error) {
			var seq int
			if err := r.Scan(&seq); err != nil {
				return false, err
			}
			if n := len(spans); n > 0 && spans[n-1].To == seq-1 {
				spans[n-1].To = seq
			} else {
				spans = append(spans, machine.Span{From: seq, To: seq})
			}
			return true, nil
		})
	return spans, err
}

// MarkLost sets which instructions have lost their effect.
func (w writer) MarkLost(id machine.ID, spans []machine.Span) error {
	if err := w.s.exec("UPDATE instructions SET rolled_back = 0 WHERE machine = ? AND rolled_back <> 0", id); err != nil {
		return err
	}
	for _, span := range spans {
		err := w.s.exec("UPDATE instructions SET rolled_back = 1 WHERE machine = ? AND seq BETWEEN ? AND ? AND started_at IS NOT NULL", id, span.From, span.To)
		if err != nil {
			return err
		}
	}
	return nil
}

// AddInstruction adds one.
func (w writer) AddInstruction(in machine.InstructionRecord) error {
	forms, data, err := pack(in.Data)
	if err != nil {
		return err
	}
	return w.s.exec(`INSERT INTO instructions (`+instructionHead+instructionBody+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, nullif(?, ''), ?, ?, ?, ?, ?, ?, ?)`,
		in.Machine, in.Seq, in.Client.Name, in.Client.Version, in.Summary, int64(in.Timeout), strings.Join(in.Formats, ","), in.Status,
		nano(in.QueuedAt), nanoPtr(in.StartedAt), nanoPtr(in.EndedAt), nanoPtr(in.ResumedAt),
		int64(in.Runtime), int64(in.Ran), in.ErrorName, in.RolledBack, in.Notice, in.Items, in.OutputBytes, in.OutputDropped,
		in.LastFrame, in.HeadEnd, in.Overflow, in.CarryOut, in.CarryErr, in.Key, in.Again,
		in.Code, in.Value, in.Error, in.ErrorANSI, forms, data)
}

// PutInstruction replaces what changes in the life of one.
func (w writer) PutInstruction(in machine.InstructionRecord) error {
	forms, data, err := pack(in.Data)
	if err != nil {
		return err
	}
	return w.s.exec(`UPDATE instructions SET status = ?, started_at = ?, ended_at = ?, resumed_at = ?, runtime = ?, ran = ?,
		error_name = ?, value = ?, error = ?, error_ansi = ?, forms = ?, data = ?, rolled_back = ?, notice = ?,
		items = ?, output_bytes = ?, output_dropped = ?, last_frame = ?, head_end = ?, overflow = ?, carry_out = ?, carry_err = ?, again = ?
		WHERE machine = ? AND seq = ?`,
		in.Status, nanoPtr(in.StartedAt), nanoPtr(in.EndedAt), nanoPtr(in.ResumedAt), int64(in.Runtime), int64(in.Ran),
		in.ErrorName, in.Value, in.Error, in.ErrorANSI, forms, data, in.RolledBack, in.Notice,
		in.Items, in.OutputBytes, in.OutputDropped, in.LastFrame, in.HeadEnd, in.Overflow, in.CarryOut, in.CarryErr, in.Again,
		in.Machine, in.Seq)
}
