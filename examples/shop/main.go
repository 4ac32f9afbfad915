// Shop is an e-commerce application in one DynamoDB table. README.md describes it.
//
// From the root of the repository:
//
//	go run ./examples/shop
package main

import "github.com/singletable/singletable/examples/shop/walk"

func main() { walk.Program.Main() }
