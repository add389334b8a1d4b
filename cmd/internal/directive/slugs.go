package directive

import (
	"maps"
	"slices"
)

// The kinds of problems. The text says in one line what is wrong; the message of a Problem says it of the case at hand.
var slugs = map[string]string{
	// The comment.
	"look-alike": "a comment is written like a //lock: directive but is not one, so nothing would be locked",
	"misplaced":  "a //lock: directive does not stand in the doc comment of a function or method",

	"default": "a //lock:default line stands where no package has its defaults, or says what no default can say",

	// The line.
	"empty":          "there is nothing where an argument should be",
	"character":      "a character that nothing shows, or invalid UTF-8, in a directive or in the text of a key",
	"space":          "white space where the grammar has none",
	"comma":          "two arguments without a comma between them",
	"quote":          "a quoted value is not closed, is no Go string, or is joined to other text",
	"brace":          "a brace is not closed, or closes nothing",
	"trailing":       "a comment behind the directive",
	"option-unknown": "there is no such option",
	"option-repeat":  "an option is given twice",

	// The values.
	"value-missing": "an option that needs a value has none",
	"duration":      "a value is not a positive duration",
	"ttl-range":     "a ttl that the runtime refuses",
	"bool":          "a value is neither true nor false",
	"choice":        "a value is not one of the words the option takes",
	"number":        "a value is not a number, or not one that the option takes",
	"permits":       "a number of permits that no lock can have, or one that needs none",
	"name":          "a value is not a Go identifier or a path of identifiers",
	"constant":      "an @reference is malformed, names no constant, or a constant of the wrong type or value",
	"text-empty":    "a text option is empty",
	"cron":          "a cron specification or its zone is wrong",

	// The options together.
	"key-missing": "the directive has no key",
	"key-first":   "the first line has no key",
	"key-repeat":  "the same key is given twice",
	"key-option":  "what one of several keys has of its own stands on a line without a key",
	"ttl-missing": "the directive has no ttl",
	"cron-only":   "an option of scheduled jobs without cron",
	"conflict":    "two options contradict each other",

	// Key templates.
	"key-empty":   "a key is empty, or would be when its values are",
	"placeholder": "the text between braces is not a placeholder",
	"filter":      "there is no such filter, or it does not fit the value",
	"parameter":   "a placeholder names no parameter or field",
	"method":      "a placeholder calls or names a method",
	"too-early":   "a placeholder reads what exists only once the lock is held",
	"type":        "a value has no text that a key could hold",
	"collision":   "two different values could give the same key",

	// The function.
	"context":      "context.Context is not the first parameter",
	"lease":        "a fence or lease parameter of the wrong form, or more of them than keys",
	"locker":       "locker= names no *lockrt.Locker, or there are several to choose from",
	"tx":           "tx= names no *sql.DB, or the function does not take one *sql.Tx",
	"wrapper-name": "the wrapper's name cannot be used",
	"name-clash":   "the wrapper's name is taken",
	"test":         "a function that go test calls cannot have a wrapper",
	"cron-generic": "a generic function, or a method of a generic type, cannot be a scheduled job",
}

// Slugs returns the slug of every kind of problem, sorted.
func Slugs() []string { return slices.Sorted(maps.Keys(slugs)) }
