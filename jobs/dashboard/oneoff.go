package dashboard

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/lockgen/lockgen/jobs"
)

// oneOffsShown is how many one-off jobs are asked for.
const oneOffsShown = 500

type oneOffListData struct {
	Waiting []oneOffRow
	All     bool // that wait are shown
}

type oneOffRow struct {
	ID, Handler, Payload, Log string
	At                        moment
}

func (q *request) oneOffList() (*view, error) {
	waiting, err := ask(q, "the one-off jobs that wait", "one-off", func(ctx context.Context) ([]jobs.OneOff, error) {
		return q.d.jobs.Waiting(ctx, oneOffsShown)
	})
	if err != nil {
		return nil, err
	}
	data := oneOffListData{All: len(waiting) < oneOffsShown}
	for _, o := range waiting {
		data.Waiting = append(data.Waiting, oneOffRow{
			ID: o.ID, Handler: o.Handler, Payload: firstLine(q.payload(o.Payload)), At: q.moment(o.At),
			Log: address("job", "name", handlerPrefix+o.Handler),
		})
	}
	return &view{template: "one-off", Title: "One-off jobs", Menu: "one-off", Live: true, Data: data}, nil
}

// handlerPrefix stands before the handler's name where its runs are recorded.
const handlerPrefix = "one-off:"

// payload is what may be shown of a payload. Bytes that are no text are counted.
func (q *request) payload(p []byte) string {
	if !utf8.Valid(p) {
		return fmt.Sprintf("%d bytes that are no text", len(p))
	}
	return q.text("payload", string(p))
}
