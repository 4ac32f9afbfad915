// Package peers runs other libraries next to this one, on one table: the real packages of
// ElectroDB, DynamoDB-Toolbox, OneTable, TypeDORM, dynamoose, Auth.js, castore and Powertools,
// pinned by package-lock.json, on the local engine. For each, the model of a shop is written in
// both languages, in NAME.js and NAME_test.go.
//
// What holds is in rows: peer.rows and peer.writes of each library, and the tables of
// values_test.go. Each row has a function that returns what it has seen.
// docs/share-a-table.md has the calls that write, and testdata/holds.txt all else;
// go generate ./suites/peers writes both.
//
// The tests start one process of Node, which runs run.js. The packages are installed once, into
// the user's cache directory. For other versions, change package.json, and run
//
//	npm install --package-lock-only --ignore-scripts --legacy-peer-deps
package peers
