// Package jobstest simulates clusters of schedulers, for tests of jobs and of what is built on them.
//
// A [Cluster] lives in a bubble of testing/synctest: its clock advances only while all goroutines wait. So a year of
// ticks takes seconds, and every run of a test takes the same steps. Its nodes are real schedulers with real Lockers.
// The test controls only the links between them and their stores.
//
//	func TestNightlyReport(t *testing.T) {
//		jobstest.Run(t, func(t *testing.T, c *jobstest.Cluster) {
//			for range 3 {
//				n := c.Node(jobs.Config{}, 0)
//				n.MustAdd(reports.Nightly())
//				n.Start()
//			}
//			time.Sleep(36 * time.Hour) // takes milliseconds
//			c.Node(jobs.Config{}, 3*time.Minute).Start() // its clock is ahead
//			c.Nodes()[0].Crash()
//			time.Sleep(24 * time.Hour)
//			c.Stop()
//			c.ExpectOnce("nightly", "0 3 * * *", from, to)
//		})
//	}
//
// Faults of a node: its clock is off ([Cluster.Node]), it loses the connection to one store or both ([Node.CutJobs],
// [Node.CutLocks]), answers get lost ([Node.DropReplies]), it hangs ([Node.Freeze]), it dies ([Node.Crash]), it is shut
// down ([Node.Stop]). To cut all nodes off, see [Cluster.Outage].
//
// The goroutines of a crashed node cannot be killed like a process. Instead its calls fail from then on, so that
// nothing of it reaches the cluster, and the contexts of its runs end.
package jobstest
