package directive

import "testing"

// Every problem that the lines alone show, with the exact text it spans and, where there is a fix, what the lines are
// once it is applied.
var parseErrors = []struct {
	in    string
	wants []want
	fixed string
}{
	// The line.
	{"//‹lock:›", []want{{"empty", "the directive is empty", "write //lock:key="}}, ""},
	{"//‹lock:   ›", []want{{"empty"}}, ""},
	{"//lock:key=a,‹,›ttl=30s", []want{{"empty", "before this comma"}}, "//lock:key=a,ttl=30s"},
	{"//lock:‹,›key=a,ttl=30s", []want{{"empty"}}, "//lock:key=a,ttl=30s"},
	{"//lock:key=a,ttl=30s‹,›", []want{{"empty", "after the last comma"}}, "//lock:key=a,ttl=30s"},
	{"//lock:key=a,ttl=30s,‹=5›", []want{{"empty", "no option's name"}}, ""},
	{"//lock:key=a,‹ ›ttl=30s", []want{{"space", "before an argument"}}, "//lock:key=a,ttl=30s"},
	{"//lock:key=a‹ ›,ttl=30s", []want{{"space", "before the comma"}}, "//lock:key=a,ttl=30s"},
	{"//lock:key=‹  ›a,ttl=30s", []want{{"space", "before the value"}}, "//lock:key=a,ttl=30s"},
	{"//lock:key=a,‹‹\t››ttl=30s", []want{{"character"}, {"space"}}, ""},
	{"//lock:key=a‹ ›ttl=30s", []want{{"comma", `between "key=a" and "ttl=30s"`}}, "//lock:key=a,ttl=30s"},
	{"//lock:key=a,ttl=30s‹ ›reentrant", []want{{"comma", `between "ttl=30s" and "reentrant"`}},
		"//lock:key=a,ttl=30s,reentrant"},
	{"//lock:key=a,ttl=30s‹ // one order per user›", []want{{"trailing", "// one order per user", "line of its own"}},
		"//lock:key=a,ttl=30s"},
	{"//lock:key=a‹\x00›,ttl=30s", []want{{"character"}}, ""},
	{"//lock:key=a‹\u202e›b‹\u200b›,ttl=30s", []want{{"character", `\u202e`}, {"character"}}, ""},
	{"//lock:key=\"a‹\u202e›b‹\ufeff›\",ttl=30s", []want{{"character"}, {"character"}}, ""},
	{"//lock:key=\"a‹\u00a0›b\",ttl=30s", []want{{"character", `"\u00a0"`}}, ""},
	{"//lock:key=a‹‹\u00a0››b,ttl=30s", []want{{"character"}, {"space", `write key="a b"`}}, `//lock:key="a b",ttl=30s`},
	{`//lock:key=a,ttl=30s,cron="@daily",job=‹"a\u202eb"›`, []want{{"character", `job is "a\u202eb"`}}, ""},
	{`//lock:key=a,ttl=30s,shared=‹"a\u200b"›`, []want{{"character"}}, ""},
	{"//lock:key=‹'a'›,ttl=30s", []want{{"quote", `write key="a"`}}, `//lock:key="a",ttl=30s`},
	{"//lock:key=‹'a:{x}'›,ttl=‹'30s'›", []want{{"quote"}, {"quote", `write ttl="30s"`}}, `//lock:key="a:{x}",ttl="30s"`},
	{"//lock:key=one‹ ›order,ttl=30s", []want{{"space", "unquoted value of key", `key="one order"`}},
		`//lock:key="one order",ttl=30s`},
	{"//lock:key=a,ttl=30s,cron=0‹ ›3 * * *", []want{{"space", `cron="0 3 * * *"`}},
		`//lock:key=a,ttl=30s,cron="0 3 * * *"`},
	{"//lock:ttl=30s,key=my‹ ›key'", []want{{"space", `key="my key'"`}}, `//lock:ttl=30s,key="my key'"`},
	{"//lock:key=a,cron='0‹ ›3 * * *',ttl=30s", []want{{"space", `cron="0 3 * * *"`}},
		`//lock:key=a,cron="0 3 * * *",ttl=30s`},
	{"//lock:key=a,ttl=30s,cron=@every‹ ›5m,overlap=skip", []want{{"space", `cron="@every 5m"`}},
		`//lock:key=a,ttl=30s,cron="@every 5m",overlap=skip`},
	{`//lock:key=‹"order:{id}›,ttl=30s`, []want{{"quote", "quote of key is never closed", `write "`}}, ""},
	{"//lock:ttl=30s,key=‹`a›", []want{{"quote", "never closed", "write `"}}, ""},
	{`//lock:key="a"‹b›,ttl=30s`, []want{{"quote", `"b" is joined to "key=\"a\""`}}, ""},
	{`//lock:key=a‹"b"›,ttl=30s`, []want{{"quote", "quote the whole value"}}, ""},
	{`//lock:key=‹"a\q"›,ttl=30s`, []want{{"quote", `no Go string: "\\q"`}}, ""},
	{"//lock:‹tll›=30s,key=a", []want{{"option-unknown", `no option "tll"; did you mean "ttl"?`}}, "//lock:ttl=30s,key=a"},
	{"//lock:‹kye›=a,ttl=30s", []want{{"option-unknown", `did you mean "key"`}}, "//lock:key=a,ttl=30s"},
	{"//lock:‹Key›=a,ttl=30s", []want{{"option-unknown", `did you mean "key"`}}, "//lock:key=a,ttl=30s"},
	{"//lock:key=a,ttl=30s,‹re-entrant›", []want{{"option-unknown", `did you mean "reentrant"`}},
		"//lock:key=a,ttl=30s,reentrant"},
	{"//lock:key=a,ttl=30s,‹color›=red", []want{{"option-unknown", `no option "color" (the options are key, ttl`}}, ""},
	{"//lock:key=a,ttl=30s,‹fenced›", []want{{"option-unknown", "fenced", "//lock:fenced on a line by itself"}}, ""},
	{"//lock:key=a,ttl=30s,‹ttl=40s›", []want{{"option-repeat", "ttl is given twice"}}, ""},
	{"//lock:key=a,ttl=30s\n//lock:wait=1s,‹wait=0›", []want{{"option-repeat", "wait is given twice"}}, ""},
	{"//lock:key=a,ttl=‹x›,‹ttl=40s›", []want{{"duration"}, {"option-repeat"}}, ""},

	// Values.
	{"//lock:key=a,‹ttl›", []want{{"value-missing", "ttl has no value: write ttl=30s"}}, ""},
	{"//lock:key=a,‹ttl=›", []want{{"value-missing", "ttl= has no value"}}, ""},
	{"//lock:‹key›,ttl=30s", []want{{"value-missing", "key has no value: write key=order:{id}"}}, ""},
	{"//lock:key=a,ttl=30s,‹wait›", []want{{"value-missing", "wait has no value"}}, ""},
	{"//lock:key=a,ttl=‹30›", []want{{"duration", "30 means nothing: write ttl=30s"}}, "//lock:key=a,ttl=30s"},
	{"//lock:key=a,ttl=‹0›", []want{{"duration", "ttl=0 is not positive"}}, ""},
	{"//lock:key=a,ttl=‹0s›", []want{{"duration", "ttl=0s is not positive"}}, ""},
	{"//lock:key=a,ttl=‹-30s›", []want{{"duration", "ttl=-30s is not positive"}}, ""},
	{"//lock:key=a,ttl=‹-30›", []want{{"duration", "ttl=-30 is not positive"}}, ""},
	{"//lock:key=a,ttl=‹soon›", []want{{"duration", `"soon" is no duration`, "(ms, s, m, h)"}}, ""},
	{"//lock:key=a,ttl=‹1d›", []want{{"duration", `no unit "d": write ttl=24h`}}, "//lock:key=a,ttl=24h"},
	{"//lock:key=a,ttl=‹5min›", []want{{"duration", "write ttl=5m"}}, "//lock:key=a,ttl=5m"},
	{"//lock:key=a,ttl=‹30sec›", []want{{"duration", "write ttl=30s"}}, "//lock:key=a,ttl=30s"},
	{`//lock:key=a,ttl=‹""›`, []want{{"duration", `"" is no duration`}}, ""},
	{"//lock:key=a,ttl=‹99999999h›", []want{{"duration"}}, ""},
	{"//lock:key=a,ttl=‹forever›", []want{{"duration", `"forever" is no duration`}}, ""},
	{"//lock:key=a,ttl=‹1ms›", []want{{"ttl-range", "from 10ms to 720h"}}, ""},
	{"//lock:key=a,ttl=‹721h›", []want{{"ttl-range"}}, ""},
	{"//lock:key=a,ttl=30s,wait=‹5›", []want{{"duration", "5 means nothing: write wait=5s"}},
		"//lock:key=a,ttl=30s,wait=5s"},
	{"//lock:key=a,ttl=30s,wait=‹-1s›", []want{{"duration",
		"wait=-1s is negative: write wait=0 to try once, wait=forever"}}, ""},
	{"//lock:key=a,ttl=30s,wait=‹never›", []want{{"duration", "or 0 to try once, or forever"}}, ""},
	{"//lock:key=a,ttl=30s,minhold=‹0›,maxhold=‹5›",
		[]want{{"duration", "minhold=0 is not positive"}, {"duration", "write maxhold=5s"}}, ""},
	{`//lock:key=a,ttl=30s,cron="@daily",timeout=‹10›,jitter=‹0s›`, []want{{"duration", "timeout=10s"}, {"duration"}}, ""},
	{"//lock:key=a,ttl=30s,renew=‹no›", []want{{"bool", `renew is "no": write renew or renew=false`}},
		"//lock:key=a,ttl=30s,renew=false"},
	{"//lock:key=a,ttl=30s,reentrant=‹1›", []want{{"bool"}}, "//lock:key=a,ttl=30s,reentrant=true"},
	{"//lock:key=a,ttl=30s,reentrant=‹maybe›", []want{{"bool"}}, ""},
	{"//lock:key=a,ttl=30s,busy=‹Skip›", []want{{"choice", `busy is "Skip": write error or skip; did you mean "skip"?`}},
		"//lock:key=a,ttl=30s,busy=skip"},
	{"//lock:key=a,ttl=30s,busy=‹wait›", []want{{"choice", "write error or skip"}}, ""},
	{`//lock:key=a,ttl=30s,cron="@daily",misfire=‹skp›,overlap=‹que›`,
		[]want{{"choice", "skip, once or all", `"skip"`}, {"choice", "skip, queue, replace or allow"}}, ""},
	{"//lock:key=a,ttl=30s,func=‹place-order›", []want{{"name", `"place-order", which is no name`}}, ""},
	{"//lock:key=a,ttl=30s,func=‹go›", []want{{"name"}}, ""},
	{"//lock:key=a,ttl=30s,func=‹_›", []want{{"name"}}, ""},
	{"//lock:key=a,ttl=30s,locker=‹s.Locker()›", []want{{"name", "only names joined by dots"}}, ""},
	{"//lock:key=a,ttl=30s,locker=‹s..locks›", []want{{"name"}}, ""},
	{`//lock:key=a,ttl=30s,cron="@daily",retries=‹-1›`, []want{{"number", `retries is "-1"`}}, ""},
	{`//lock:key=a,ttl=30s,cron="@daily",retries=‹many›`, []want{{"number"}}, ""},
	{`//lock:key=a,ttl=30s,cron=‹""›`, []want{{"text-empty", "cron is empty"}}, ""},
	{`//lock:key=a,ttl=30s,cron="@daily",job=‹" "›`, []want{{"text-empty"}}, ""},
	{`//lock:key=a,ttl=30s,cron="@daily",job=‹"a\nb"›`, []want{{"character"}}, ""},
	{`//lock:key=a,ttl=30s,cron=‹@daily›`, []want{{"cron", `would be the Go constant daily: write cron="@daily"`}},
		`//lock:key=a,ttl=30s,cron="@daily"`},
	{`//lock:key=a,ttl=30s,cron=‹"0 0 31 2 *"›`, []want{{"cron", "never fires"}}, ""},
	{`//lock:key=a,ttl=30s,cron=‹"0 25 * * *"›,tz=‹Europe/Berln›`,
		[]want{{"cron", "cron spec"}, {"cron", "tz is wrong", "Europe/Berln"}}, ""},
	{`//lock:key=a,ttl=30s,cron="CRON_TZ=UTC 0 3 * * *",tz=‹UTC›`, []want{{"cron", "does not go with", "twice"}}, ""},
	{"//lock:key=a,ttl=‹@›", []want{{"constant", `"@" is no reference`}}, ""},
	{"//lock:key=a,ttl=‹@a.b.c›", []want{{"constant"}}, ""},
	{"//lock:key=a,ttl=‹@a.›", []want{{"constant"}}, ""},
	{"//lock:key=a,ttl=‹@2x›", []want{{"constant"}}, ""},
	{"//lock:key=a,ttl=30s,busy=‹@Busy›", []want{{"constant", "busy takes no constant"}}, ""},
	{"//lock:key=a,ttl=30s,renew=‹@Renew›,func=‹@Name›", []want{{"constant"}, {"constant"}}, ""},

	// The options together.
	{"//‹‹lock:reentrant››", []want{{"key-missing", "no key", "write key="}, {"ttl-missing", "write ttl=30s"}}, ""},
	{"//‹lock:key=a›", []want{{"ttl-missing", "outlives a holder that died"}}, ""},
	{"//‹lock:ttl=30s›", []want{{"key-missing"}}, ""},
	{"//‹lock:ttl=30s›\n//lock:key=a", []want{{"key-first", "first line has no key"}}, ""},
	{"//lock:key=a,ttl=30s,‹tz=UTC›", []want{{"cron-only", "tz is for scheduled jobs", `cron="0 3 * * *"`}}, ""},
	{"//lock:key=a,ttl=30s,‹job=j›,‹misfire=once›,‹overlap=skip›,‹timeout=1m›,‹retries=1›,‹jitter=1s›",
		[]want{{"cron-only", "job"}, {"cron-only", "misfire"}, {"cron-only", "overlap"}, {"cron-only", "timeout"},
			{"cron-only", "retries"}, {"cron-only", "jitter"}}, ""},
	{"//lock:key=a:{x},ttl=30s\n//lock:‹key=\"a:{x}\"›", []want{{"key-repeat", `"a:{x}" is given twice`}}, ""},
	{"//lock:key=a,ttl=30s,‹minhold=10m›,maxhold=1m", []want{{"conflict", "minhold 10m is longer than maxhold 1m"}}, ""},
	{"//lock:key=a,ttl=30s,renew=false,‹maxhold=1m›", []want{{"conflict", "renew=false has none"}}, ""},
	{"//lock:key=a,ttl=30s,‹busy=skip›,wait=forever", []want{{"conflict", "wait=forever never is"}}, ""},

	// What each key has of its own.
	{"//lock:key=a,ttl=30s,mode=‹Read›", []want{{"choice", `mode is "Read": write write or read; did you mean "read"?`}},
		"//lock:key=a,ttl=30s,mode=read"},
	{"//lock:key=a,ttl=30s,mode=‹@M›", []want{{"constant", "mode takes no constant"}}, ""},
	{"//lock:key=a,ttl=30s,mode=read,‹mode=write›", []want{{"option-repeat", "mode is given twice for one key"}}, ""},
	{"//lock:key=a,ttl=30s,mode=read\n//lock:‹mode=write›", []want{{"option-repeat"}}, ""},
	{"//lock:key=a,ttl=30s\n//lock:key=b\n//lock:‹mode=read›", []want{{"key-option", "mode says how one of 2 keys is locked"}}, ""},
	{"//lock:‹key=›,ttl=30s,mode=read", []want{{"value-missing"}}, ""},
	{"//lock:key=a,ttl=30s,permits=‹0›", []want{{"permits", `permits is "0": write how many`, "permits=4"}}, ""},
	{"//lock:key=a,ttl=30s,permits=‹-2›", []want{{"permits"}}, ""},
	{"//lock:key=a,ttl=30s,permits=‹1001›", []want{{"permits", "from 2 to 1000"}}, ""},
	{"//lock:key=a,ttl=30s,permits=‹99999999999999999999›", []want{{"permits"}}, ""},
	{"//lock:key=a,ttl=30s,permits=‹many›", []want{{"permits"}}, ""},
	{"//lock:key=a,ttl=30s,permits=‹1›", []want{{"permits", "drop permits=1"}}, ""},
	{"//lock:key=a,ttl=30s,‹permits=›", []want{{"value-missing", "permits= has no value"}}, ""},
	{"//lock:key=a,ttl=30s,‹mode=read›,permits=4", []want{{"conflict", "a key has one of them"}}, ""},
	{"//lock:key=a,ttl=30s,‹mode=write›,permits=4", []want{{"conflict"}}, ""},
	{"//lock:key=a,ttl=30s,mode=read,key=b,permits=4", nil, ""},
	{"//lock:key=a,ttl=30s,minhold=1s,‹mode=read›", []want{{"conflict", "delete minhold"}}, ""},
	{"//lock:key=a,ttl=30s,minhold=1s,permits=10", nil, ""},
	{"//lock:key=a,ttl=30s,‹mode=read›,tx=s.db", []want{{"conflict", "read-only transaction"}}, ""},
	{`//lock:key=a,ttl=30s,‹permits=4›,cron="@daily",overlap=replace`, []want{{"conflict", "overlap=skip"}}, ""},
	{`//lock:key=a,ttl=30s,‹permits=4›,cron="@daily",overlap=allow`, []want{{"conflict", "bounds nothing"}}, ""},
	{`//lock:key=a,ttl=30s,permits=4,cron="@daily",overlap=queue`, nil, ""},
	{`//lock:key=a,ttl=30s,permits=4,cron="@daily"`, nil, ""},
	{`//lock:key=a,ttl=30s,‹mode=read›,cron="@daily"`, []want{{"conflict", "overlap=allow"}}, ""},
	{`//lock:key=a,ttl=30s,mode=read,cron="@daily",overlap=allow`, nil, ""},
	{`//lock:key=a,ttl=30s,‹mode=read›,cron="@daily",overlap=replace`, []want{{"conflict", "overlap=replace"}}, ""},
	{`//lock:key=a,ttl=30s,mode=read,key=b,cron="@daily"`, nil, ""},
	{`//lock:key=a,ttl=30s,‹mode=read›,key=b,mode=read,cron="@daily"`, []want{{"conflict"}}, ""},

	// A problem does not hide the next.
	{"//lock:key=order:‹{›userid,‹tll›=‹30›,wait=‹soon›,‹color›=red", []want{
		{"brace", `"{" in key is never closed`}, {"option-unknown"}, {"duration", "write ttl=30s"}, {"duration"},
		{"option-unknown"}}, ""},
}

func TestParse_errors(t *testing.T) {
	for _, tt := range parseErrors {
		t.Run(tt.in, func(t *testing.T) {
			text, spans := unmark(t, tt.in)
			_, found := Parse(linesOf(text))
			checkProblems(t, text, spans, tt.wants, found)
			want := tt.fixed
			if want == "" {
				return
			}
			got := fixed(text, base, found)
			if got != want {
				t.Errorf("the fix gives %s, want %s", got, want)
			}
			if _, again := Parse(linesOf(got)); len(again) > 0 {
				t.Errorf("after the fix there are problems: %v", again)
			}
		})
	}
}
