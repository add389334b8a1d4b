// Package dashboard is a web page for a cluster that runs jobs: which nodes there are and what their clocks show, what
// ran where and when, what failed and why, when each job is due next, who holds a lock. Operators run, pause, resume
// and cancel jobs, run failed ticks again, and break locks.
//
//	http.Handle("/jobs/", dashboard.Handler(s, dashboard.Config{}))
//
// Any process can serve it, several at once if you like: what it shows and does is the cluster's, through the store.
// The scheduler need not have jobs, nor be run: see the example of a process that only serves the dashboard. Services
// that share a namespace are told apart by their program; the namespace stands in the head of every page.
//
// # Who may do what
//
// Without Config.Authorize everybody who reaches the handler may look and nobody may act. With it, viewers look and
// operators act. It is called for every request but those for the style sheet, the script and the icon, which hold
// nothing private. Put the sign-in in front of the handler, and let Authorize read what it left in the request; or let
// it return a [Challenge], for the browser to ask.
//
// # While the store does not answer
//
// Pages say since when nothing is known, and show greyed what was known last, as of then: they claim nothing about the
// present. They ask a small question again and again, and say so when the store is back. A process that has never
// had an answer shows no state at all. Such pages have status 503.
//
// # What it costs
//
// All tabs that look at one process share its questions: each is asked by one of them at a time, and for a fifth of
// the time at the most. A page of jobs or locks asks for those that it shows, and counts come from the store, so that
// with 100,000 jobs a page costs what it does with a hundred. Two things read more: a search looks at names until the
// page is full, and a list that is sorted by anything but names reads up to 1000 jobs; of more it is sorted by name,
// and the overview does not say what comes next. Timelines, charts and the list of runs are drawn from some of the
// records of the hundred jobs that ran last, and begin where the records that are kept do.
//
// # What the browser is told
//
// Pages are made on the server from embedded files; nothing is loaded from elsewhere. The content security policy
// allows the dashboard's own style sheet and script and nothing inline, no frame around it and no form to another
// place. Writes are POST requests, refused if they come from another origin ([net/http.CrossOriginProtection]) that is
// none of Config.TrustedOrigins, and each is asked for on a page of its own first. Pages must not be stored.
//
// There are three cookies, for the directory of the dashboard only: the colours chosen, the reader's time zone, and
// for a minute the message about the last action.
//
// # Without JavaScript
//
// Everything works; the script only keeps pages up to date, by asking for them every two seconds while they are
// visible, and tells the server the reader's time zone. It changes what has changed and leaves alone what is pressed,
// has the focus, is selected or was written.
package dashboard
