package dashboard

import (
	lockrt "github.com/lockgen/lockgen/runtime"
)

type lockListData struct {
	Prefix string
	Locks  []lockRow
	Pager  pager
}

type lockRow struct {
	Key, Holder, ID string
	Fence           uint64
	Since           moment
	Age, Remaining  string
	Waiters         []string // nodes, in the order in which they get it
	Job             string   // that has the key
	Free            bool
	Kept            bool   // by nobody, until its minimum hold time is over
	Unknown         string // why it could not be asked
}

func (q *request) lockRow(info lockrt.LockInfo) lockRow {
	row := lockRow{
		Key: info.Key, Holder: holderName(info), ID: info.ID, Fence: uint64(info.Fence), Since: q.moment(info.Since),
		Remaining: duration(info.Remaining), Kept: info.Node == "",
	}
	if !info.Since.IsZero() {
		row.Age = rough(max(0, q.now.Sub(info.Since)))
	}
	for _, w := range info.Waiters {
		row.Waiters = append(row.Waiters, w.Node)
	}
	return row
}

func holderName(info lockrt.LockInfo) string {
	if info.Node == "" {
		return "kept by its minimum hold time"
	}
	return info.Node
}

func (q *request) lockList() (*view, error) {
	v := &view{template: "locks", Title: "Locks", Menu: "locks", Live: true}
	data := lockListData{Prefix: q.r.URL.Query().Get("q")}
	infos, err := q.d.locks.List(q.ctx, data.Prefix)
	if err != nil {
		v.Problems = append(v.Problems, q.storeProblem("the held locks", err))
	}
	data.Pager = q.newPager(len(infos))
	jobOf := map[string]string{}
	for _, info := range q.d.jobs.Jobs() {
		for _, key := range info.Job.Keys {
			jobOf[key] = info.Job.Name
		}
	}
	for _, info := range infos[data.Pager.First-1 : max(data.Pager.First-1, data.Pager.Last)] {
		row := q.lockRow(info)
		row.Job = jobOf[info.Key]
		data.Locks = append(data.Locks, row)
	}
	v.Data = data
	return v, nil
}
