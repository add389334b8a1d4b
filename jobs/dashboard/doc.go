// Package dashboard is a web page for a cluster that runs jobs. It shows the nodes and their clocks, what ran where and
// when, what failed and why, when each job is due next, and who holds a lock. Operators run, pause, resume and cancel
// jobs, run failed ticks again, and break locks.
//
//	http.Handle("/jobs/", dashboard.Handler(s, dashboard.Config{}))
//
// Any process can serve it, also several at once: it shows and changes the state of the cluster, through the store. The
// scheduler needs no jobs and need not run: see the example of a process that only serves the dashboard. Services that
// share a namespace are distinguished by their program. The heading of every page shows the namespace.
//
// # Who may do what
//
// Without Config.Authorize everybody who reaches the handler may look and nobody may act. With it, viewers look and
// operators act. It is called for every request except those for the style sheet, the script and the icon, which hold
// nothing private. Either put the sign-in in front of the handler, and let Authorize read its result from the request.
// Or let Authorize return a [Challenge], so that the browser asks.
//
// # While the store does not answer
//
// Pages say since when the state is not known, and show the last known state, greyed and with its time. They ask the
// store a small question again and again, and say so when it is back. A process that has never had an answer shows no
// state at all. Such pages have status 503. Where the locks are in a store of their own and only that does not answer, pages
// of jobs are as they are, with status 200, and say since when the holders of locks are not known.
//
// A store that is slow is not taken to be silent. A page takes about five seconds at most, besides what
// Authorize takes. It asks what it can at the same time.
// What has no answer by then is shown as it was known, as of its time and with status 200, and the page says that the store is
// slow. If it was never known, the page says that there is no answer within five seconds yet, with status 503.
//
// # What it costs
//
// All tabs on one process share its questions to the store: each question is asked by one tab at a time, and for at
// most a fifth of the time. So an answer of a store that takes two seconds is shown for eight more, and one that has fallen silent
// meanwhile is noticed with the next question. The foot of a page says as of when it is: when the oldest of its answers was asked for. A
// page of jobs or locks reads only those that it shows, and counts come from the store. So a page costs the same with
// 100,000 jobs as with a hundred. Two things read more. A search looks at names until the page is full. A list that is
// sorted by anything but names reads up to 1000 jobs; with more jobs it is sorted by name, and the overview does not
// show what comes next. Timelines, charts and the list of runs use some of the records of the hundred jobs that ran
// last, and begin where the kept records begin.
//
// # What the browser may do
//
// Pages are rendered on the server from embedded files; nothing is loaded from elsewhere. The content security policy
// allows the dashboard's own style sheet and script. It allows nothing inline, no frame around the page and no form to
// another place. Writes are POST requests, and each is confirmed on a page of its own first. A write from another
// origin ([net/http.CrossOriginProtection]) is refused unless Config.TrustedOrigins has that origin. Pages must not be
// stored.
//
// A form acts once, also if a double click sends it twice: it has a random token, and what is sent again gets the answer
// of the first. A process remembers the last 100 forms of each action, for up to ten minutes. Another process behind the
// same address knows nothing of them. The token protects from nobody: a form without one, as scripts send, is done each time.
//
// There are three cookies, for the directory of the dashboard only: the colours chosen, the reader's time zone, and
// for a minute the message about the last action.
//
// # Without JavaScript
//
// Everything works. The script only keeps pages up to date, by asking for them every two seconds while they are
// visible, keeps a button from being pressed twice, and tells the server the reader's time zone. It replaces only what has
// changed. It leaves alone what is pressed, has the focus, is selected or was typed. While selected text holds a part, the
// foot keeps its time. A page is greyed, and says as of when it is, after two requests or five seconds without an answer.
// It is greyed at once when the answer is that there is no such page any more.
package dashboard
