package main

import (
	"ll1017/across/far"
	"ll1017/across/stock"
)

func main() {
	far.Use()
	stock.Use()
}
