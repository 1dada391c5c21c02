package store

import "github.com/forevervm/desktop/backend/machine"

// CopyHistory copies instructions with items and index from one machine to another.
func (w writer) CopyHistory(from, to machine.ID, last int, running *machine.Mark) error {
	const columns = `seq, client_name, client_version, summary, timeout, formats, status, queued_at, started_at, ended_at, resumed_at,
		runtime, ran, error_name, rolled_back, notice, items, output_bytes, output_dropped, last_frame, head_end, overflow, carry_out, carry_err` + instructionBody
	end := last + 1 // instructions below it are copied whole
	if running != nil {
		end = running.Seq
	}
	err := w.s.exec(`INSERT INTO instructions (machine, `+columns+`) SELECT ?, `+columns+` FROM instructions
		WHERE machine = ? AND seq <= ? AND (seq = ? OR status NOT IN ('queued', 'running')) ORDER BY seq`, to, from, last, end)
	if err != nil {
		return err
	}
	items := 0 // how many items of the running one belong to the copy
	if running != nil {
		items = running.Items
		if err := w.unfinish(to, running); err != nil {
			return err
		}
	}
	err = w.s.exec(`INSERT INTO items (instruction, idx, frame, kind, at, stream, flags, display_id, forms, data)
		SELECT b.id, i.idx, i.frame, i.kind, i.at, i.stream, i.flags, i.display_id, i.forms, i.data
		FROM instructions a JOIN instructions b ON b.machine = ? AND b.seq = a.seq JOIN items i ON i.instruction = a.id
		WHERE a.machine = ? AND a.seq <= ? AND (a.seq <> ? OR i.idx < ?)`, to, from, last, end, items)
	if err != nil {
		return err
	}
	return w.s.exec(`INSERT INTO search (rowid, code, output, result)
		SELECT b.id, s.code, s.output, s.result
		FROM instructions a JOIN instructions b ON b.machine = ? AND b.seq = a.seq JOIN search s ON s.rowid = a.id
		WHERE a.machine = ? AND a.seq <= ? AND a.seq <> ?`, to, from, last, end)
}

// unfinish makes the copy of an instruction what it was when the checkpoint was made.
func (w writer) unfinish(id machine.ID, m *machine.Mark) error {
	return w.s.exec(`UPDATE instructions SET status = 'running', ended_at = NULL, resumed_at = NULL, runtime = 0,
		error_name = '', value = NULL, error = '', error_ansi = '', forms = '', data = NULL, rolled_back = 0, notice = '',
		items = ?, output_bytes = ?, output_dropped = ?, last_frame = ?, head_end = ?, overflow = ?, carry_out = ?, carry_err = ?
		WHERE machine = ? AND seq = ?`,
		m.Items, m.OutputBytes, m.OutputDropped, m.Progress.LastFrame, m.Progress.HeadEnd, m.Progress.Overflow, m.Progress.CarryOut, m.Progress.CarryErr,
		id, m.Seq)
}
