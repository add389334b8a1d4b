package main

import "ll1017/across/stock"

func main() { stock.Use() }
