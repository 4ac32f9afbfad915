package lines

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
)

// withFile is the command of jq in a format.
var withFile = regexp.MustCompile(`(jq -c '[^']*') FILE`)

// byteOrderMark begins texts that some editors and shells of Windows write. It is no part of the
// first line.
const byteOrderMark = "\ufeff"

const isUTF16 = "is UTF-16, as Windows PowerShell writes it: save it as UTF-8"

// whole are the formats of files that are known by their first bytes.
var whole = []struct{ magic, is string }{
	{"\x28\xb5\x2f\xfd", "is compressed with zstd, and load reads gzip: zstd -dc FILE | singletable load TABLE"},
	{"BZh", "is compressed with bzip2, and load reads gzip: bzip2 -dc FILE | singletable load TABLE"},
	{"\xfd7zXZ", "is compressed with xz, and load reads gzip: xz -dc FILE | singletable load TABLE"},
	{"PK\x03\x04", "is a ZIP archive, and load reads gzip: unzip -p FILE | singletable load TABLE"},
	{"PAR1", "is a Parquet file, which does not have DynamoDB's types: load takes an export in the format DYNAMODB_JSON"},
	{"\xe0\x01\x00\xea", "is Amazon Ion in its binary form: load takes an export in the format DYNAMODB_JSON"},
	{"$ion_1_0", "is Amazon Ion: load takes an export in the format DYNAMODB_JSON. An import from S3 reads Ion, into a new table"},
	{"\xff\xfe", isUTF16},
	{"\xfe\xff", isUTF16},
}

// longestMagic is how many first bytes tell a format.
const longestMagic = 8

// Text returns a text of a file without a byte order mark.
//
// Errors: the text is UTF-16.
func Text(file string) (string, error) {
	if strings.HasPrefix(file, "\xff\xfe") || strings.HasPrefix(file, "\xfe\xff") {
		return "", errors.New(isUTF16)
	}
	return strings.TrimPrefix(file, byteOrderMark), nil
}

// wholeFormat returns why a file with these first bytes cannot be read, nil if it can.
func wholeFormat(start []byte) error {
	for _, f := range whole {
		if bytes.HasPrefix(start, []byte(f.magic)) {
			return errors.New("the file " + f.is)
		}
	}
	return nil
}

// The formats of JSON, each with the command that makes lines of it.
const (
	isResponse = `is a response of Scan or Query, as "aws dynamodb scan" and dynamodump store it. ` +
		`If it ends with a NextToken or LastEvaluatedKey, it is not the whole table. To load it: jq -c '.Items[] | {Item: .}' FILE | singletable load TABLE`
	isItem   = `is an item over several lines, or with more members than "Item". To load it: jq -c '{Item}' FILE | singletable load TABLE`
	isChange = `is a change of an incremental export to S3, and load takes items: load a full export. ` +
		`What was put, without what was deleted: jq -c 'select(.NewImage) | {Item: .NewImage}' FILE | singletable load -replace TABLE`
	isModel = `is a data model of NoSQL Workbench. To load the sample data of a table: ` +
		`jq -c '.DataModel[] | select(.TableName == "TABLE") | .TableData[] | {Item: .}' FILE | singletable load TABLE`
	isSummary  = `is the manifest-summary.json of an export to S3, without items: load the files of the folder data next to it, one by one or by zcat data/*.json.gz | singletable load TABLE`
	isFiles    = `is the manifest-files.json of an export to S3, without items: load the files that it names in dataFileS3Key, one by one or by zcat data/*.json.gz | singletable load TABLE`
	isRecord   = `is a record or an event of DynamoDB Streams, Kinesis Data Streams or EventBridge Pipes, which is a change of an item: load takes items`
	isGot      = `is a response of BatchGetItem. To load it: jq -c '.Responses[][] | {Item: .}' FILE | singletable load TABLE`
	isBatch    = `is a request of BatchWriteItem. To load its items: jq -c '.[][].PutRequest | select(.)' FILE | singletable load TABLE`
	isState    = `is what a dump or load has saved of its position: load the file that it is next to`
	isSchema   = `is a schema file, without items: "singletable ensure" makes its table`
	isRequest  = `is a request of BatchWriteItem on each line. To load its items: jq -c '.PutRequest | select(.)' FILE | singletable load TABLE`
	isWrites   = `is a request of TransactWriteItems. To load what it puts: jq -c '.TransactItems[].Put | select(.) | {Item}' FILE | singletable load TABLE`
	isPage     = `is a page of "singletable query -json", and with -all it prints lines that load takes. To load the page: jq -c '.items[] | {Item: .}' FILE | singletable load TABLE`
	isTable    = `is the description of a table, without items`
	isLines    = `is a list of lines. To load it: jq -c '.[]' FILE | singletable load TABLE`
	isList     = `is a list of items. To load it: jq -c '.[] | {Item: .}' FILE | singletable load TABLE`
	isBare     = `is an item without {"Item":…} around its attributes. To load it: jq -c '{Item: .}' FILE | singletable load TABLE`
	isPipeline = `has types of values in lower case, as exports of AWS Data Pipeline have: load takes an export to S3 in the format DYNAMODB_JSON`
	isPlain    = `is JSON without DynamoDB's types, and load takes lines such as {"Item":{"pk":{"S":"USER#1"},"n":{"N":"1"}}}`
	isOther    = `is JSON of another form, and load takes lines such as {"Item":{"pk":{"S":"USER#1"},"n":{"N":"1"}}}`
	isTar      = `is a tar archive. To load the files in it: tar -xOf FILE | singletable load TABLE`
	isXML      = `is XML or HTML, such as the text of an error: load takes lines such as {"Item":{"pk":{"S":"USER#1"}}}`
	isCSV      = `is no JSON, and looks like CSV: load takes lines such as {"Item":{"pk":{"S":"USER#1"}}}. An import from S3 reads CSV, into a new table`
)

// known are the formats that members of the object tell.
var known = []struct{ member, is string }{
	{"Items", isResponse},
	{"DataModel", isModel},
	{"ModelName", isModel},
	{"manifestFilesS3Key", isSummary},
	{"exportArn", isSummary},
	{"dataFileS3Key", isFiles},
	{"Records", isRecord},
	{"dynamodb", isRecord},
	{"kinesis", isRecord},
	{"kinesisSchemaVersion", isRecord},
	{"NewImage", isChange},
	{"OldImage", isChange},
	{"Responses", isGot},
	{"loadedTable", isState},
	{"PutRequest", isRequest},
	{"DeleteRequest", isRequest},
	{"TransactItems", isWrites},
}

// formatOf returns what a text is that is not a line of this package, "" if that is not known.
// The text can be cut off at its end. It quotes nothing of it. first means that the file begins
// with it.
func formatOf(text []byte, first bool) string {
	line, _, _ := bytes.Cut(text, []byte{'\n'})
	switch {
	case len(text) == 0:
		return ""
	case text[0] == '[':
		return formatOfList(text)
	case text[0] == '{':
		return formatOfObject(text, len(line))
	case !first:
		return ""
	case text[0] == '<':
		return isXML
	case len(text) > atTar && bytes.HasPrefix(text[atTar:], []byte("ustar")):
		return isTar
	case bytes.IndexByte(line, ',') >= 0 && bytes.IndexByte(line, 0) < 0:
		return isCSV
	}
	return ""
}

// atTar is where a tar archive says what it is.
const atTar = 257

// formatOfList is formatOf for a list, by its first element.
func formatOfList(text []byte) string {
	o := object{}
	if start := bytes.IndexByte(text, '{'); start >= 0 {
		o = membersOf(text[start:])
	}
	switch {
	case o.members["dynamodb"] != nil || o.members["kinesisSchemaVersion"] != nil:
		return isRecord
	case o.members["Item"] != nil && !typed(o.members["Item"], strings.ToUpper):
		return isLines
	case o.complete > 0 && !hasTypes(o.members):
		return isPlain
	}
	return isList
}

// formatOfObject is formatOf for an object, whose first line has so many bytes.
func formatOfObject(text []byte, line int) string {
	o := membersOf(text)
	isAttribute := func(v any) bool { return typed(v, strings.ToUpper) }
	for _, k := range known {
		// An attribute of an item can have such a name.
		if _, ok := o.members[k.member]; ok && !o.some(isAttribute) {
			return k.is
		}
	}
	if _, ok := o.members["items"]; ok && !o.some(isAttribute) && (o.complete == 0 || o.members["readUnits"] != nil) {
		return isPage
	}
	return o.format(o.complete > line)
}

// object is what is known of the members of an object.
type object struct {
	// members are the values. That of the last one is nil if the text is cut off there.
	members map[string]any
	// complete is the length of the object, 0 if the text is cut off.
	complete int
}

// membersOf reads as many members as the text has.
func membersOf(text []byte) object {
	o, d := object{members: map[string]any{}}, json.NewDecoder(bytes.NewReader(text))
	_, _ = d.Token() // The brace.
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return o
		}
		var v any
		err = d.Decode(&v)
		if text, ok := name.(string); ok {
			o.members[text] = v
		}
		if err != nil {
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				o.members = map[string]any{} // It is no JSON.
			}
			return o
		}
	}
	if _, err := d.Token(); err == nil {
		o.complete = int(d.InputOffset())
	}
	return o
}

// format tells the format by what the values are. severalLines means that the object is complete
// with the lines behind the first one.
func (o object) format(severalLines bool) string {
	item, hasItem := o.members["Item"]
	_, isMap := item.(map[string]any)
	_, isLength := o.members["length"].(float64)
	_, name := o.members["name"].(string)
	_, pk := o.members["pk"].(string)
	switch {
	case o.complete == 0 || len(o.members) == 0:
		return ""
	case hasItem && isMap && (severalLines || len(o.members) > 1):
		return isItem
	case hasItem:
		return ""
	case isLength && o.members["position"] != nil:
		return isState
	case name && (pk || o.members["indexes"] != nil || o.members["entities"] != nil || len(o.members) == 1):
		return isSchema
	case o.members["Keys"] != nil && o.members["Metadata"] != nil:
		return isChange
	case isDescription(o.members["Table"]):
		return isTable
	case o.all(isPutRequests):
		return isBatch
	case o.all(func(v any) bool { return typed(v, strings.ToUpper) }):
		return isBare
	case o.all(func(v any) bool { return typed(v, strings.ToLower) }):
		return isPipeline
	case !hasTypes(o.members):
		return isPlain
	case !o.some(func(v any) bool { return typed(v, strings.ToUpper) }):
		return isOther
	}
	return ""
}

// isDescription reports whether a value is one of DescribeTable.
func isDescription(v any) bool {
	m, _ := v.(map[string]any)
	return m["TableName"] != nil || m["KeySchema"] != nil
}

// hasTypes reports whether there is a value with a type of DynamoDB somewhere in a value of JSON.
func hasTypes(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, hasTypes)
	case map[string]any:
		for _, e := range v {
			if typed(e, strings.ToUpper) || hasTypes(e) {
				return true
			}
		}
	}
	return false
}

// some reports whether a value is so.
func (o object) some(is func(any) bool) bool {
	return !o.all(func(v any) bool { return !is(v) })
}

// all reports whether each value is so.
func (o object) all(is func(any) bool) bool {
	for _, v := range o.members {
		if !is(v) {
			return false
		}
	}
	return true
}

// typed reports whether a value has a type of DynamoDB, in upper or lower case.
func typed(v any, letters func(string) string) bool {
	m, ok := v.(map[string]any)
	if !ok || len(m) != 1 {
		return false
	}
	for kind := range m {
		return kind == letters(kind) && slices.Contains([]string{"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"}, strings.ToUpper(kind))
	}
	return false
}

func isPutRequests(v any) bool {
	list, ok := v.([]any)
	for _, e := range list {
		m, _ := e.(map[string]any)
		ok = ok && (m["PutRequest"] != nil || m["DeleteRequest"] != nil)
	}
	return ok && len(list) > 0
}
