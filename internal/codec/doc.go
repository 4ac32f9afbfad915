// Package codec decodes the JSON of a response into Go values, and encodes Go
// values as items and as the JSON of a request. It follows the rules of the
// SDK's attributevalue package, without attribute values in between.
//
// # The fast way only ever succeeds
//
// There are two things that this package does not decide:
//
//   - What an item means to a Go type is for attributevalue to say. A [plan] of
//     a type knows the plain cases. A field that it does not know, or whose
//     attribute does not fit, is given to attributevalue, whose result or error
//     it gets.
//   - What a response means is for the SDK to say. A [Reader] knows what
//     DynamoDB sends. A response that surprises it is given to the SDK as a
//     whole.
//
// So no error comes from here, and nothing is accepted that the SDK and
// attributevalue would not accept. Of two attributes that are for one field,
// because their names differ in case only, the last one counts; which one does
// with attributevalue is chance.
//
// # Puts
//
// [MakePut] writes the item of a Go value as JSON in one pass, and counts its size.
// A [Writer] inserts that into a request. What may be invalid is not written: then
// the item is made by [Encode] and checked, and the error names the attribute.
//
// [Number] is how DynamoDB sees a number, which no Go type is.
//
// # Changes
//
// A write reads an item once, as a [Read]: a value and the item that it was made
// of, from which more values and single attributes can be made. [Compare] then says
// which attributes a change of the value changes, and encodes no others.
package codec
