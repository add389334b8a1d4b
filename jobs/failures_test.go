package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/lockgen/lockgen/jobs"
	"github.com/lockgen/lockgen/jobs/jobstest"
)

func TestScheduler_Failures(t *testing.T) {
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		n := c.Node(Config{}, 0)
		fail := func(context.Context) error { return errors.New("no luck") }
		n.MustAdd(Job{Name: "bad", Spec: "*/10 * * * *", Run: fail})
		n.MustAdd(Job{Name: "worse", Spec: "5-59/10 * * * *", Run: func(context.Context) error { panic("oh") }})
		n.MustAdd(Job{Name: "good", Spec: "* * * * *", Run: jobstest.Sleep(0)})
		n.Start()
		time.Sleep(time.Hour + time.Minute)
		for limit, want := range map[int]string{
			3:   "bad 01:00:00 worse 00:55:00 bad 00:50:00 ",
			100: "bad 01:00:00 worse 00:55:00 bad 00:50:00 worse 00:45:00 bad 00:40:00 worse 00:35:00 bad 00:30:00 worse 00:25:00 bad 00:20:00 worse 00:15:00 bad 00:10:00 worse 00:05:00 ",
		} {
			runs, err := n.Failures(t.Context(), limit)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, r := range runs {
				got += fmt.Sprintf("%s %s ", r.Job, r.Tick.Format(time.TimeOnly))
			}
			if got != want {
				t.Errorf("the last %d: %s\nwant %s", limit, got, want)
			}
		}
		n.CutJobs(true)
		c.Stop()
	})
}

// TestInfo_Zone: a zone is where the job has it, or else the scheduler.
func TestInfo_Zone(t *testing.T) {
	jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
		tokyo, err := time.LoadLocation("Asia/Tokyo")
		if err != nil {
			t.Skip("no zone files: ", err)
		}
		n := c.Node(Config{Location: tokyo}, 0)
		for _, j := range []Job{
			{Name: "Europe/Vienna", Spec: "0 3 * * *", TZ: "Europe/Vienna"},
			{Name: "Europe/London", Spec: "CRON_TZ=Europe/London 0 3 * * *"},
			{Name: "Asia/Tokyo", Spec: "0 3 * * *"},
		} {
			j.Run = jobstest.Sleep(0)
			n.MustAdd(j)
		}
		n.Start()
		time.Sleep(time.Second)
		statuses, err := n.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, info := range n.Jobs() {
			if info.Zone.String() != info.Job.Name || statuses[i].Zone != info.Zone {
				t.Errorf("%s: %v, %v", info.Job.Name, info.Zone, statuses[i].Zone)
			}
			ticks, err := n.Upcoming(info.Job.Name, 1)
			if err != nil || len(ticks) != 1 || ticks[0].Tick.Format("15:04 MST") != statuses[i].Next.In(info.Zone).Format("15:04 MST") || ticks[0].Tick.Hour() != 3 {
				t.Errorf("%s: %v, %v", info.Job.Name, ticks, err)
			}
		}
		c.Stop()
	})
}
