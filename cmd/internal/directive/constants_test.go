package directive

import "testing"

var constTests = []struct {
	args  string
	wants []want
}{
	{",wait=@TTL", nil},
	{",wait=@conf.TTL", nil},
	{",wait=@Zero", nil},
	{",maxhold=@TTL,minhold=20s", nil},
	{`,cron=@Spec,tz=@conf.Zone,retries=@Tries,job=@Text`, nil},
	{",key=@Text", nil},
	{",wait=‹@Bare›", []want{{"constant", "its type is untyped int and wait takes a time.Duration",
		"const Bare = 30 * time.Second"}}},
	{",wait=‹@Text›", []want{{"constant", "untyped string"}}},
	{",minhold=‹@Zero›", []want{{"duration", "minhold=@Zero, which is 0s, is not positive"}}},
	{",wait=‹@Tll›", []want{{"constant", "this package has no constant Tll", `did you mean "TTL"`}}},
	{",wait=‹@Variable›", []want{{"constant", "Variable is a variable"}}},
	{",wait=‹@ID›", []want{{"constant", "ID is a type"}}},
	{",wait=‹@nope.TTL›", []want{{"constant", "imports no package nope"}}},
	{",wait=‹@conf.Zero›", []want{{"constant", "package example.com/conf has no constant Zero"}}},
	{",wait=‹@conf.Blank›", []want{{"constant", "untyped int"}}},
	{`,cron=‹@conf.hidden›`, []want{{"constant", "not exported"}}},
	{",maxhold=@TTL,‹minhold=@Min›", []want{{"conflict", "minhold 1m30s is longer than maxhold 30s"}}},
	{",maxhold=1m,‹minhold=@Min›", []want{{"conflict"}}},
	{`,cron=‹@BadSpec›`, []want{{"cron"}}},
	{`,cron=‹@Empty›`, []want{{"text-empty"}}},
	{`,cron=@Spec,tz=‹@Text›`, []want{{"cron", "tz is wrong"}}},
	{`,cron=‹@Bare›`, []want{{"constant", "cron takes a string"}}},
	{`,cron=‹@NamedText›`, []want{{"constant", "its type is Named and"}}},
	{`,cron="@daily",retries=‹@Negative›`, []want{{"constant", "whole number"}}},
	{`,permits=‹@Text›`, []want{{"constant", "of type untyped string"}}},
	{`,permits=‹@Negative›`, []want{{"constant", "from 2 to 1000"}}},
	{`,cron="@daily",retries=‹@TTL›`, []want{{"constant", "of type time.Duration"}}},
	{",key=‹@Empty›", []want{{"key-empty"}}},
	{",key=‹@Braced›", []want{{"constant", "not a template"}}},
	{",key=‹@Bare›", []want{{"constant", "key takes a string"}}},
}

func TestBind_constants(t *testing.T) {
	for _, tt := range constTests {
		t.Run(tt.args, func(t *testing.T) {
			marked, spans := unmark(t, "//lock:key=a,ttl=@TTL"+tt.args+"\nfunc f() {}")
			for i := range spans {
				spans[i].from += len(prelude) + 1
				spans[i].to += len(prelude) + 1
			}
			text, fset, f, found := bound(t, marked, true)
			checkProblems(t, text, spans, tt.wants, rebase(fset, found))
			d := f.Directive
			if d.TTL.Const.Object == nil || d.TTL.Value != 30e9 {
				t.Errorf("@TTL is resolved to %v, %v", d.TTL.Const.Object, d.TTL.Value)
			}
			if tt.wants == nil && d.Cron != nil &&
				(d.Cron.Value != "0 3 * * *" || d.TZ.Const.Object.Pkg().Path() != "example.com/conf" || d.Retries.Value != 3) {
				t.Errorf("the constants are resolved to %s, %s, %d", d.Cron.Value, d.TZ.Value, d.Retries.Value)
			}
			if _, _, f, found := bound(t, marked, false); len(found) > 0 || !f.NeedsTypes {
				t.Errorf("without types: NeedsTypes is %t, problems %v", f.NeedsTypes, found)
			}
		})
	}
}
