package dashboard

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/lockgen/lockgen/jobs"
)

// onceShown is how many one-off jobs are asked for.
const onceShown = 500

type onceListData struct {
	Waiting []onceRow
	All     bool // that wait are shown
}

type onceRow struct {
	ID, Handler, Payload, Log string
	At                        moment
}

func (q *request) onceList() (*view, error) {
	waiting, err := ask(q, "the one-off jobs that wait", "once", func(ctx context.Context) ([]jobs.Once, error) {
		return q.d.jobs.Waiting(ctx, onceShown)
	})
	if err != nil {
		return nil, err
	}
	data := onceListData{All: len(waiting) < onceShown}
	for _, o := range waiting {
		data.Waiting = append(data.Waiting, onceRow{
			ID: o.ID, Handler: o.Handler, Payload: firstLine(q.payload(o.Payload)), At: q.moment(o.At),
			Log: address("job", "name", onceJob+o.Handler),
		})
	}
	return &view{template: "once", Title: "One-off jobs", Menu: "once", Live: true, Data: data}, nil
}

// onceJob stands before the handler's name where its runs are recorded.
const onceJob = "once:"

// payload is what may be shown of a payload. Bytes that are no text are counted.
func (q *request) payload(p []byte) string {
	if !utf8.Valid(p) {
		return fmt.Sprintf("%d bytes that are no text", len(p))
	}
	return q.text("payload", string(p))
}
