// Package item decodes the JSON of a response into Go values, without attribute
// values in between, and encodes Go values as items. It follows the rules of the SDK's
// attributevalue package.
//
// # The fast way only ever succeeds
//
// There are two things that this package does not decide:
//
//   - What an item means to a Go type is for attributevalue to say. A [plan] of
//     a type knows the plain cases. A field that it does not know, or whose
//     attribute does not fit, is given to attributevalue, whose result or error
//     it gets.
//   - What a response means is for the SDK to say. A [Parser] knows what
//     DynamoDB sends. A response that surprises it is given to the SDK as a
//     whole.
//
// So no error comes from the fast way, and nothing is accepted that the SDK and
// attributevalue would not accept, except for times: see moment.go. Of two attributes that are for one field,
// because their names differ in case only, the one with the field's own name counts, or
// else the last one; which one does with attributevalue is chance.
//
// The greatest float32 is encoded by more digits than attributevalue gives it, which would not
// read those.
//
// A [Writer] writes the JSON of a request. What it does not know is for the SDK to write.
//
// [Number] is how DynamoDB sees a number, which no Go type is.
//
// # Round trips
//
// attributevalue stores some values so that no read gives them back, without an error.
// [EncodeToRead] refuses these, and [RoundTrip] says which types have only such values.
//
// # Changes
//
// A write reads an item as a [Raw], which is not decoded. Values and single attributes
// are made of it. [Compare] then says which attributes a change of the value changes,
// and encodes no others.
package item
