package words

import "testing"

func TestOf(t *testing.T) {
	for spec, want := range map[string]string{
		"* * * * *":                        "Every minute",
		"* * * * * *":                      "Every second",
		"*/10 * * * * *":                   "Every 10 seconds",
		"30 * * * * *":                     "At second 30 of every minute",
		"*/5 * * * *":                      "Every 5 minutes",
		"*/7 * * * *":                      "At minutes 0 to 56 in steps of 7 of every hour",
		"5/20 * * * *":                     "At minutes 5, 25 and 45 of every hour",
		"0 * * * *":                        "Every hour",
		"@hourly":                          "Every hour",
		"30 * * * *":                       "At minute 30 of every hour",
		"*/5 9-17 * * mon-fri":             "Every 5 minutes from 09:00 to 17:59, Monday to Friday",
		"*/5 8,12,16 * * *":                "Every 5 minutes, hours 8, 12 and 16",
		"15 0-23 * * *":                    "At minute 15, hours 0 to 23",
		"* 0-23 * * *":                     "Every minute from 00:00 to 23:59",
		"0 3 * * *":                        "Every day at 03:00",
		"0,30 3,4 * * *":                   "Every day at 03:00, 03:30, 04:00 and 04:30",
		"30 0 3 * * *":                     "Every day at 03:00:30",
		"0 */6 * * *":                      "Every day at 00:00, 06:00, 12:00 and 18:00",
		"0 */2 * * *":                      "At minute 0, hours 0 to 22 in steps of 2",
		"0 3 * * SUN":                      "At 03:00, Sunday",
		"0 3 * * 0,6":                      "At 03:00, Saturday and Sunday",
		"0 3 * * 5,6,0":                    "At 03:00, Friday to Sunday",
		"0 3 1 * *":                        "At 03:00 on day 1 of the month",
		"0 3 1,15 * mon":                   "At 03:00 on days 1 and 15 of the month or on Monday",
		"0 3 */2 * *":                      "At 03:00 on days 1 to 31 in steps of 2 of the month",
		"0 3 1-31 * mon":                   "Every day at 03:00",
		"0 3 * 1-3,12 *":                   "Every day at 03:00, in January to March and December",
		"@yearly":                          "At 00:00 on 1 January",
		"@monthly":                         "At 00:00 on day 1 of the month",
		"@weekly":                          "At 00:00, Sunday",
		"@every 90s":                       "Every 1 minute and 30 seconds",
		"@every 1h":                        "Every hour",
		"@every 2h0m5s":                    "Every 2 hours and 5 seconds",
		"CRON_TZ=Europe/Vienna 0 3 * *  *": "Every day at 03:00",
		"*/2 5 3 * * *":                    "Every 2 seconds, minute 5 from 03:00 to 03:59",
		"not a spec":                       "not a spec",
		"TZ=UTC":                           "TZ=UTC",
		"":                                 "",
	} {
		if got := Of(spec); got != want {
			t.Errorf("Of(%q)\n got %q\nwant %q", spec, got, want)
		}
	}
}
