// Package peers runs other libraries next to this one, on one table: the real packages of
// ElectroDB, DynamoDB-Toolbox, OneTable, dynamoose, TypeDORM, Auth.js, castore and Powertools,
// pinned by package-lock.json, on the local engine. For each, the model of a shop is written in
// both languages.
//
// What holds is a table of rows in the file of the peer, and each row has a function that sees
// it. docs/peers.md is made of the rows; go generate writes it.
//
// The tests start one process of Node, which runs run.js. The packages are installed once,
// into the user's cache directory.
package peers
