// Package other knows of the clients, and does nothing with them.
package other

import "through/global"

func Ready() bool { return global.RDB != nil && global.RS != nil }
