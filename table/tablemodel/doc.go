// Package tablemodel shows what a table holds, and writes down how it is laid
// out for the tools that make tables.
//
// In a table with many entities nobody sees from the schema alone what is stored
// where. [Markdown] and [Mermaid] make a picture of a schema and some items, for
// READMEs and reviews: the items of each partition in the order of their sort
// keys, once for the table and once for each index, as a query finds them. [HTML]
// makes it one page for a browser, with a colour for each type.
// [Workbench] writes the same as a data model for AWS's NoSQL Workbench.
//
//	items, err := tablemodel.Scan(ctx, tbl, 0)
//	picture, err := tablemodel.Markdown(schema, items, nil)
//
// The items are those of a development table, or of a table of package tabletest
// that was filled with sample entities. In a test that compares the picture with
// the README it keeps the README true:
//
//	tbl := tabletest.New(t, orders.Schema, nil)
//	fill(t, tbl)
//	items, err := tablemodel.Scan(t.Context(), tbl, 0)
//
// A [Model] says which keys the entities of a table have: USER#{userId} for users,
// EMAIL#{email} for the copies that make their e-mails unique. It tells what an item
// is, and computes the keys of the other items of its entity. As JSON it is a schema
// file for the command singletable and for other tools. [Infer] makes one of sample
// items:
//
//	model, err := tablemodel.Infer(schema, items)
//	entity, n, ok := model.Find(item)
//	all, err := entity.Keys(item)
//
// [ClaimOwner] says which entity owns a claim of package repo.
//
// [CloudFormation] and [Terraform] write the table itself, from the schema that
// the program uses, so that the deployed table and the program agree.
//
// All output is deterministic: the same schema and items give the same bytes,
// in whatever order the items are. The functions are safe for concurrent use.
//
// # Errors
//
// An invalid schema is [table.ErrInvalid]. An item that lacks
// a key attribute of the table, or has one of another type than the schema says,
// is [keys.ErrInvalid]; the message names the attribute and not its value. Both
// are in a [*table.Error].
//
// # Personal data
//
// Pictures show keys and values. Make them of sample data. A model shows constant
// parts of keys and names of attributes; [Infer] says which parts it takes for
// constant.
package tablemodel
