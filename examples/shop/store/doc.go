// Package store is the shop: users, a catalogue, carts and orders in one DynamoDB
// table, and from the table's stream an audit trail and notifications of products that
// are low in stock. It knows nothing of HTTP.
//
// Each file has one noun: what is stored of it, under which keys, and what can be done.
// [Schema] is the table, and [Shop] has the access patterns. Functions whose names end
// in Query or Key return what a pattern asks the table for.
//
// Reads of the table are eventually consistent unless their comment says otherwise.
// Pages go on after the cursor of the page before, and a limit of 0 is the library's
// default.
package store
