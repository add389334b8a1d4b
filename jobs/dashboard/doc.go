// Package dashboard is a web page for a cluster that runs jobs: which nodes there are and what their clocks show, what
// runs, what failed and why, when each job is due next, who holds a lock. Operators run, pause, resume and cancel jobs
// and break locks.
//
//	http.Handle("/jobs/", dashboard.Handler(s, dashboard.Config{}))
//
// Any node can serve it, all of them at once if you like: what it shows and does is the cluster's, through the store.
//
// # Who may do what
//
// Without Config.Authorize everybody who reaches the handler may look and nobody may act. With it, viewers look and
// operators act. It is called for every request but those for the style sheet, the script and the icon, which hold
// nothing private. Put the sign-in in front of the handler, and let Authorize read what it left in the request.
//
// # What the browser is told
//
// Pages are made on the server from embedded files; nothing is loaded from elsewhere. The content security policy
// allows the dashboard's own style sheet and script and nothing inline, no frame around it and no form to another
// place. Writes are POST requests, refused if they come from another origin ([net/http.CrossOriginProtection]), and
// each is asked for on a page of its own first. Pages must not be stored.
//
// There are two cookies, for the directory of the dashboard only: the colours chosen, and for a minute the message
// about the last action.
//
// # Without JavaScript
//
// Everything works; the script only keeps pages up to date, by asking for them every two seconds while they are
// visible. All that look share one answer of the store, which is asked for the state of the whole cluster a fifth of
// the time at the most.
package dashboard
