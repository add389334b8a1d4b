package directive

import (
	"testing"
	"time"
)

// Each line says what every option's value is read as, through the canonical form.
func TestParse_options(t *testing.T) {
	const k = "//lock:key=a,ttl=30s"
	for _, tt := range []struct{ in, want string }{
		{"//lock:key=order:{userID},ttl=30s", "//lock:key=order:{userID},ttl=30s"},
		{"//lock:ttl=30s,key=a", k},
		{"//lock:key=a\n//lock:ttl=30s", k},
		{"//lock:key=a,ttl=30s\n//lock:key=b", "//lock:key=a,key=b,ttl=30s"},
		{"//lock:key=a,ttl=30s  ", k},
		{`//lock:key="a",ttl="30s"`, k},
		{"//lock:key=`a`,ttl=`30s`", k},
		{`//lock:key="a b, c",ttl=30s`, `//lock:key="a b, c",ttl=30s`},
		{"//lock:key=`a\"b`,ttl=30s", `//lock:key="a\"b",ttl=30s`},
		{`//lock:key="a",ttl=30s`, k},
		{"//lock:key={{a,b}}:{id},ttl=30s", "//lock:key={{a,b}}:{id},ttl=30s"},
		{"//lock:key={{{id}}}:cart,ttl=30s", "//lock:key={{{id}}}:cart,ttl=30s"},
		{"//lock:ttl=30s,key=a{{b", `//lock:key="a{{b",ttl=30s`},
		{"//lock:ttl=30s,key=a}}b", "//lock:key=a}}b,ttl=30s"},
		{"//lock:key=a=b,ttl=30s", "//lock:key=a=b,ttl=30s"},
		{"//lock:key=größe:{id},ttl=30s", "//lock:key=größe:{id},ttl=30s"},
		{"//lock:key=it's,ttl=30s", "//lock:key=it's,ttl=30s"},
		{"//lock:key=@Name,ttl=@pkg.TTL", "//lock:key=@Name,ttl=@pkg.TTL"},
		{`//lock:key="@name",ttl=30s`, `//lock:key="@name",ttl=30s`},
		{"//lock:key=a,ttl=90s", "//lock:key=a,ttl=1m30s"},
		{"//lock:key=a,ttl=+1h", "//lock:key=a,ttl=1h"},
		{"//lock:key=a,ttl=1.5h", "//lock:key=a,ttl=1h30m"},
		{"//lock:key=a,ttl=720h", "//lock:key=a,ttl=720h"},
		{"//lock:key=a,ttl=10ms", "//lock:key=a,ttl=10ms"},
		{"//lock:key=a,ttl=30s,wait=0", k + ",wait=0"},
		{"//lock:key=a,ttl=30s,wait=0s", k + ",wait=0"},
		{"//lock:key=a,ttl=30s,wait=forever", k + ",wait=forever"},
		{"//lock:key=a,ttl=30s,wait=2s", k + ",wait=2s"},
		{"//lock:key=a,ttl=30s,wait=@W", k + ",wait=@W"},
		{"//lock:key=a,ttl=30s,renew", k + ",renew"},
		{"//lock:key=a,ttl=30s,renew=true", k + ",renew"},
		{"//lock:key=a,ttl=30s,renew=false", k + ",renew=false"},
		{`//lock:key=a,ttl=30s,renew="false"`, k + ",renew=false"},
		{"//lock:key=a,ttl=30s,maxhold=10m", k + ",maxhold=10m"},
		{"//lock:key=a,ttl=30s,minhold=5s,maxhold=5s", k + ",maxhold=5s,minhold=5s"},
		{"//lock:reentrant,key=a,ttl=30s", k + ",reentrant"},
		{"//lock:key=a,ttl=30s,reentrant=false", k + ",reentrant=false"},
		{"//lock:key=a,ttl=30s,busy=skip", k + ",busy=skip"},
		{"//lock:key=a,ttl=30s,busy=error", k + ",busy=error"},
		{"//lock:key=a,ttl=30s,func=PlaceOrder", k + ",func=PlaceOrder"},
		{"//lock:key=a,ttl=30s,func=Größe", k + ",func=Größe"},
		{"//lock:key=a,ttl=30s,locker=s.deps.locks", k + ",locker=s.deps.locks"},
		{"//lock:key=a,ttl=30s,locker=Locks", k + ",locker=Locks"},
		{"//lock:ttl=30s,mode=read,key=a", "//lock:key=a,mode=read,ttl=30s"},
		{"//lock:key=a,ttl=30s,permits=1000", "//lock:key=a,permits=1000,ttl=30s"},
		{"//lock:key=a,ttl=30s,permits=@N\n//lock:key=b,mode=write", "//lock:key=a,permits=@N,key=b,mode=write,ttl=30s"},
		{`//lock:key=a,ttl=30s,cron="0 3 * * *"`, k + `,cron="0 3 * * *"`},
		{`//lock:key=a,ttl=30s,cron="@daily"`, k + `,cron="@daily"`},
		{`//lock:key=a,ttl=30s,cron=@Nightly`, k + `,cron=@Nightly`},
		{`//lock:key=a,ttl=30s,cron="@every 5m"`, k + `,cron="@every 5m"`},
		{`//lock:key=a,ttl=30s,cron="0 3 * * *",tz=Europe/Berlin`, k + `,cron="0 3 * * *",tz=Europe/Berlin`},
		{`//lock:key=a,ttl=30s,job=j,cron="0 3 * * *"`, k + `,cron="0 3 * * *",job=j`},
		{`//lock:key=a,ttl=30s,job="two words",cron="@daily"`, k + `,cron="@daily",job="two words"`},
		{`//lock:key=a,ttl=30s,cron="@daily",misfire=skip,overlap=skip`, k + `,cron="@daily",misfire=skip,overlap=skip`},
		{`//lock:key=a,ttl=30s,cron="@daily",misfire=once,overlap=queue`, k + `,cron="@daily",misfire=once,overlap=queue`},
		{`//lock:key=a,ttl=30s,cron="@daily",misfire=all,overlap=replace`, k + `,cron="@daily",misfire=all,overlap=replace`},
		{`//lock:key=a,ttl=30s,cron="@daily",overlap=allow`, k + `,cron="@daily",overlap=allow`},
		{`//lock:key=a,ttl=30s,cron="@daily",timeout=10m,retries=3,jitter=10s`, k +
			`,cron="@daily",timeout=10m,retries=3,jitter=10s`},
		{`//lock:key=a,ttl=30s,cron="@daily",retries=0`, k + `,cron="@daily",retries=0`},
		{`//lock:key=a,ttl=30s,cron="@daily",retries=@Tries`, k + `,cron="@daily",retries=@Tries`},
		{"//lock:key={a?}:{b|lower}:{c|hash}:{d|unix}:{e|text}:{f|string}:{len(g)}:{len(h.i)?|hash},ttl=30s",
			"//lock:key={a?}:{b|lower}:{c|hash}:{d|unix}:{e|text}:{f|string}:{len(g)}:{len(h.i)?|hash},ttl=30s"},
		{`//lock:key="\x61\u00e9\n",ttl=30s`, ""},
	} {
		t.Run(tt.in, func(t *testing.T) {
			d, found := Parse(linesOf(tt.in))
			if tt.want == "" {
				if len(found) != 1 || found[0].Slug != "character" {
					t.Errorf("problems %v, want one of a character", found)
				}
				return
			}
			checkProblems(t, tt.in, nil, nil, found)
			if got := d.String(); got != tt.want {
				t.Errorf("reads as %s, want %s", got, tt.want)
			}
		})
	}
}

func TestParse_values(t *testing.T) {
	d, found := Parse(linesOf(`//lock:key=order:{userID},ttl=30s,wait=forever,renew=false,busy=skip,cron="0 3 * * ` +
		`*",retries=2` + "\n" + `//lock:key=@K,minhold=@pkg.Min`))
	if d == nil || len(found) > 0 && found[0].Slug != "conflict" {
		t.Fatalf("problems: %v", found)
	}
	switch {
	case d.TTL.Value != 30*time.Second, !d.Wait.Forever, d.Renews(), !d.SkipsBusy(), d.Cron.Value != "0 3 * * *",
		d.Retries.Value != 2:
		t.Errorf("options are read as %s", d)
	case len(d.Keys) != 2 || d.Keys[1].Const.Name != "K" || d.Keys[1].Template != nil:
		t.Errorf("keys are read as %s", d)
	case d.MinHold.Const.Pkg != "pkg" || d.MinHold.Const.Name != "Min":
		t.Errorf("constant is read as %s", d.MinHold.Const)
	}
	if d, _ := Parse(linesOf("//lock:key=a,ttl=1s")); !d.Renews() || d.SkipsBusy() || d.Renew != nil {
		t.Errorf("the defaults of %s are wrong", d)
	}
}

// Positions are those of the source, also behind escapes.
func TestParse_positions(t *testing.T) {
	const line = "//lock:key=\"\\u00e9\\t{a}é:{b.cd?|lower}\",ttl=30s"
	d, _ := Parse(linesOf(line))
	text := func(pos, end int) string { return line[pos-int(base) : end-int(base)] }
	k := d.Keys[0]
	if got := text(int(k.Pos), int(k.End)); got != "key=\"\\u00e9\\t{a}é:{b.cd?|lower}\"" {
		t.Errorf("the key is at %s", got)
	}
	if got := text(int(d.TTL.ValuePos), int(d.TTL.ValueEnd)); got != "30s" {
		t.Errorf("the ttl is at %s", got)
	}
	var parts []string
	for _, part := range k.Template.Parts {
		pos, end := part.Span()
		parts = append(parts, text(int(pos), int(end)))
	}
	for i, want := range []string{`\u00e9\t`, `{a}`, `é:`, `{b.cd?|lower}`} {
		if parts[i] != want {
			t.Errorf("part %d is at %s, want %s", i, parts[i], want)
		}
	}
	hole := k.Template.Parts[3].(*Placeholder)
	if got := text(int(hole.Path[1].Pos), int(hole.Path[1].End)); got != "cd" {
		t.Errorf("the field is at %s", got)
	}
	if got := text(int(hole.FilterPos), int(hole.End)); got != "lower}" {
		t.Errorf("the filter is at %s", got)
	}
}
