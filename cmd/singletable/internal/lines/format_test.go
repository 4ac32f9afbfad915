package lines

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf16"
)

// The files of others, in their form.
const (
	scanned = `{
    "Items": [
        {
            "pk": {
                "S": "secret"
            },
            "n": {
                "N": "1"
            }
        }
    ],
    "Count": 1,
    "ScannedCount": 1,
    "ConsumedCapacity": null
}
`
	gotItem = `{
    "Item": {
        "pk": {
            "S": "secret"
        }
    }
}
`
	workbench = `{
  "ModelName": "secret",
  "ModelMetadata": {"Author": "", "AWSService": "Amazon DynamoDB", "Version": "3.0"},
  "DataModel": [
    {"TableName": "AppCore", "KeyAttributes": {"PartitionKey": {"AttributeName": "pk", "AttributeType": "S"}}, "TableData": [{"pk": {"S": "secret"}}]}
  ]
}
`
	summary = `{"version":"2020-06-30","exportArn":"arn:aws:dynamodb:us-east-1:123456789012:table/secret/export/0123-a1b2","startTime":"2026-11-04T07:28:34.028Z",` +
		`"tableArn":"arn:aws:dynamodb:us-east-1:123456789012:table/secret","s3Bucket":"secret","manifestFilesS3Key":"AWSDynamoDB/0123-a1b2/manifest-files.json","itemCount":8,"outputFormat":"DYNAMODB_JSON"}`
	files    = `{"itemCount":8,"md5Checksum":"sQMSpEILNgoQmarvDFonGQ==","etag":"af83d6f217c19b8b0fff8023d8ca4716-1","dataFileS3Key":"AWSDynamoDB/0123-a1b2/data/secret.json.gz"}` + "\n"
	inserted = `{"Metadata":{"WriteTimestampMicros":{"N":"1680109764000000"}},"Keys":{"pk":{"S":"secret"}},"NewImage":{"pk":{"S":"secret"}}}` + "\n"
	deleted  = `{"Metadata":{"WriteTimestampMicros":{"N":"1680109764000000"}},"Keys":{"pk":{"S":"secret"}}}` + "\n"
	batch    = `{
    "AppCore": [
        {"PutRequest": {"Item": {"pk": {"S": "secret"}}}},
        {"DeleteRequest": {"Key": {"pk": {"S": "secret"}}}}
    ]
}`
	lambda = `{"Records":[{"eventID":"1","eventSource":"aws:dynamodb","dynamodb":{"Keys":{"pk":{"S":"secret"}}}}]}`
	item   = `{"Item":{"pk":{"S":"secret"}}}` + "\n"
)

// wide returns a text in UTF-16.
func wide(text, mark string, low, high int) string {
	b := []byte(mark)
	for _, unit := range utf16.Encode([]rune(text)) {
		b = append(b, byte(unit>>low), byte(unit>>high))
	}
	return string(b)
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return b.String()
}

// A file of another form is named, with what to do. What it holds is in no error.
func TestFormatsOfOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"aws dynamodb scan":          {scanned, "line 1: is a response of Scan or Query"},
		"in one line":                {strings.Join(strings.Fields(scanned), ""), "line 1: is a response of Scan or Query"},
		"with CRLF":                  {strings.ReplaceAll(scanned, "\n", "\r\n"), "line 1: is a response of Scan or Query"},
		"dynamodump":                 {strings.Replace(scanned, "null", `null, "LastEvaluatedKey": {"pk": {"S": "secret"}}`, 1), "jq -c '.Items[] | {Item: .}' FILE"},
		"a scan of 100 KB":           {strings.Replace(scanned, "secret", strings.Repeat("secret", 20_000), 1), "line 1: is a response of Scan or Query"},
		"a scan with a mark":         {"\ufeff" + scanned, "line 1: is a response of Scan or Query"},
		"a scan, compressed":         {zipped(scanned), "line 1: is a response of Scan or Query"},
		"aws dynamodb get-item":      {gotItem, "line 1: is an item over several lines"},
		"get-item with its cost":     {`{"Item":{"pk":{"S":"secret"}},"ConsumedCapacity":{"TableName":"T","CapacityUnits":0.5}}`, "or with more members"},
		"NoSQL Workbench":            {workbench, "line 1: is a data model of NoSQL Workbench"},
		"manifest-summary.json":      {summary, "line 1: is the manifest-summary.json of an export"},
		"manifest-files.json":        {files + files, "line 1: is the manifest-files.json of an export"},
		"an incremental export":      {inserted + deleted, "line 1: is a change of an incremental export"},
		"of a delete":                {deleted, "line 1: is a change of an incremental export"},
		"behind items":               {item + deleted, "line 2: is a change of an incremental export"},
		"a request of BatchWrite":    {batch, "line 1: is a request of BatchWriteItem"},
		"a response of BatchGet":     {`{"Responses":{"AppCore":[{"pk":{"S":"secret"}}]},"UnprocessedKeys":{}}`, "line 1: is a response of BatchGetItem"},
		"an event of a stream":       {lambda, "line 1: is a record or an event of DynamoDB Streams, Kinesis"},
		"a record of a stream":       {`{"awsRegion":"us-east-1","dynamodb":{"Keys":{"pk":{"S":"secret"}}}}`, "line 1: is a record or an event of DynamoDB Streams, Kinesis"},
		"EventBridge Pipes":          {`[{"eventID":"1","dynamodb":{"Keys":{"pk":{"S":"secret"}}},"eventSourceARN":"secret"}]`, "Data Streams or EventBridge Pipes"},
		"Kinesis":                    {`{"kinesis":{"data":"secret"},"eventSource":"aws:kinesis"}`, "is a record or an event of DynamoDB Streams, Kinesis"},
		"a list of items":            {"[\n" + `{"pk":{"S":"secret"}}` + "\n]", "line 1: is a list of items"},
		"attributes alone":           {`{"pk":{"S":"secret"},"n":{"N":"1"}}`, `line 1: is an item without {"Item":…}`},
		"AWS Data Pipeline":          {`{"pk":{"s":"secret"},"n":{"n":"1"}}`, "line 1: has types of values in lower case"},
		"plain JSON":                 {`{"pk":"secret","n":1}`, "line 1: is JSON without DynamoDB's types"},
		"plain JSON, several lines":  {"{\n\"pk\":\"secret\",\n\"m\":{\"a\":1}}", "line 1: is JSON without DynamoDB's types"},
		"a schema file":              {`{"name":"AppCore","pk":"pk","indexes":[{"name":"GSI1","pk":"a"}]}`, "line 1: is a schema file"},
		"the state of a load":        {`{"loadedTable":"a","lines":5,"sha256":"b"}`, "line 1: is what a dump or load has saved"},
		"the state of a dump":        {`{"length":5,"position":{"a":1}}`, "line 1: is what a dump or load has saved"},
		"a page of query":            {`{"items":[{"pk":{"S":"secret"}}],"readUnits":0.5}`, `line 1: is a page of "singletable query -json"`},
		"items of another program":   {`{"items":[{"pk":"secret"}]}`, "line 1: is JSON without DynamoDB's types"},
		"lines of BatchWriteItem":    {`{"PutRequest":{"Item":{"pk":{"S":"secret"}}}}`, "line 1: is a request of BatchWriteItem on each line. To load its items: jq -c '.PutRequest"},
		"TransactWriteItems":         {`{"TransactItems":[{"Put":{"TableName":"T","Item":{"pk":{"S":"secret"}}}}]}`, "line 1: is a request of TransactWriteItems"},
		"DescribeTable":              {`{"Table":{"TableName":"secret","KeySchema":[]}}`, "line 1: is the description of a table"},
		"another form with types":    {`{"rows":[{"pk":{"S":"secret"}}]}`, "line 1: is JSON of another form"},
		"an attribute named Items":   {`{"Items":{"L":[]},"pk":{"S":"secret"}}`, `line 1: is an item without {"Item":…}`},
		"a list of lines":            {"[" + strings.TrimSpace(item) + "]", "line 1: is a list of lines. To load it: jq -c '.[]' FILE"},
		"a list of plain JSON":       {`[{"pk":"secret"}]`, "line 1: is JSON without DynamoDB's types"},
		"a list, compressed":         {zipped(`[{"pk":{"S":"secret"}}]`), "To load it: gzip -dc FILE | jq -c '.[] | {Item: .}' | singletable"},
		"a long line":                {`{"Count":1,"Items":[` + strings.Repeat(`{"pk":{"S":"secret"}},`, MaxLine/20), "line 1: is a response of Scan or Query"},
		"a long line of no form":     {`{"Item":{"pk":{"S":"` + strings.Repeat("secret", MaxLine/5), "line 1: has more than"},
		"tar":                        {"items,jsonl" + strings.Repeat("\x00", 246) + "ustar\x0000" + strings.Repeat("\x00", 248) + item, "line 1: is a tar archive"},
		"other bytes":                {"a,b\x00c", "line 1: is not JSON, or was cut off"},
		"XML":                        {`<?xml version="1.0"?><a b="secret, secret"/>`, "line 1: is XML or HTML"},
		"CSV":                        {"pk,sk,n\nsecret,a,1\n", "line 1: is no JSON, and looks like CSV"},
		"CSV with a mark":            {"\ufeffpk,sk\nsecret,a\n", "line 1: is no JSON, and looks like CSV"},
		"Ion":                        {zipped("$ion_1_0 {Item:{pk:\"secret\"}}\n"), "the file is Amazon Ion: "},
		"Ion, binary":                {"\xe0\x01\x00\xea\xee\x80", "the file is Amazon Ion in its binary form"},
		"Parquet":                    {"PAR1\x15\x04", "the file is a Parquet file"},
		"zstd":                       {"\x28\xb5\x2f\xfd\x04\x58", "the file is compressed with zstd, and load reads gzip: zstd -dc"},
		"bzip2":                      {"BZh91AY&SY", "the file is compressed with bzip2"},
		"xz":                         {"\xfd7zXZ\x00", "the file is compressed with xz"},
		"ZIP":                        {"PK\x03\x04\x14\x00", "the file is a ZIP archive"},
		"UTF-16 of PowerShell":       {wide(item, "\xff\xfe", 0, 8), "the file is UTF-16, as Windows PowerShell"},
		"UTF-16, the other order":    {wide(item, "\xfe\xff", 8, 0), "the file is UTF-16"},
		"a line that is cut off":     {item + item[:20], "line 2: is not JSON, or was cut off"},
		"the first one":              {item[:20] + "\n" + item, "line 1: is not JSON, or was cut off"},
		"a value without a type":     {`{"Item":{"pk":"secret"}}`, "line 1: pk: is not an object"},
		"a word with a comma behind": {item + "secret, secret\n", "line 2: is not JSON, or was cut off"},
		"nothing of it":              {"secret\n", "line 1: is not JSON, or was cut off"},
		"an empty object":            {"{}", "line 1: is not {\"Item\":{…}} in DynamoDB"},
	} {
		r, err := NewReader(strings.NewReader(c.text))
		for err == nil {
			_, err = r.Next()
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// A byte order mark is no part of the first line.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\ufeff" + item + item, zipped("\ufeff" + item + item)} {
		r, err := NewReader(strings.NewReader(text))
		for err == nil {
			_, err = r.Next()
		}
		if !errors.Is(err, io.EOF) || r.Lines() != 2 {
			t.Errorf("%v at line %d", err, r.Lines())
		}
	}
}
