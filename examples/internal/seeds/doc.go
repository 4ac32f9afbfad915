// Package seeds makes the sample tables of "singletable engine -seed": its tests run the
// operations of the examples, with a clock and ids that are the same each time, and
// compare what is stored then with the files of the command.
package seeds
