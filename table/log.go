package table

import "log/slog"

// attrs are the attributes of a group in a log. What is empty is left out.
type attrs []slog.Attr

func (a *attrs) text(key, value string) {
	if value != "" {
		*a = append(*a, slog.String(key, value))
	}
}

func (a *attrs) number(key string, value int) {
	if value != 0 {
		*a = append(*a, slog.Int(key, value))
	}
}

func (a *attrs) error(err error) {
	if err != nil {
		*a = append(*a, slog.String("error", err.Error()))
	}
}

// LogValue returns the error as a group without keys and items: op, position, name,
// table, index, remaining, the number of the keys, class, error.
func (e *Error) LogValue() slog.Value {
	a := attrs{slog.String("op", e.Op)}
	a.number("position", e.Position)
	a.text("name", e.Name)
	a.text("table", e.Table)
	a.text("index", e.Index)
	a.number("remaining", len(e.Remaining))
	a.text("class", Classify(e.Err).String())
	a.error(e.Err)
	return slog.GroupValue(a...)
}

// LogValue returns the error as a group: failed, the number of the operations
// that failed, and error, which names them.
func (e *TxError) LogValue() slog.Value {
	a := attrs{slog.Int("failed", len(e.Failed))}
	if len(e.Failed) > 0 || e.Err != nil {
		a.error(e)
	}
	return slog.GroupValue(a...)
}

// LogValue returns the event as a group: operation, table, index, batch,
// duration, capacity, vector_bytes, attempts, hedges, hedges_won, and after a failure
// class and error.
func (e Event) LogValue() slog.Value {
	a := attrs{slog.String("operation", e.Operation)}
	a.text("table", e.Table)
	a.text("index", e.Index)
	a.number("batch", e.Batch)
	a = append(a, slog.Duration("duration", e.Duration), slog.Float64("capacity", e.Capacity))
	if e.VectorBytes != 0 {
		a = append(a, slog.Float64("vector_bytes", e.VectorBytes))
	}
	a = append(a, slog.Int("attempts", e.Attempts))
	a.number("hedges", e.Hedges)
	a.number("hedges_won", e.HedgesWon)
	if e.Err != nil {
		a.text("class", Classify(e.Err).String())
	}
	a.error(e.Err)
	return slog.GroupValue(a...)
}
