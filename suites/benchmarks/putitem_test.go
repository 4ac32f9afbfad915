package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/schema"
	"github.com/singletable/singletable/table"
	"github.com/singletable/singletable/table/tabletest"
)

// BenchmarkPutItem writes the items by which AWS compares its SDKs of several languages, under
// their names: the whole call, from attribute values to HTTP. BinaryData_L is left out.
//
// Code: smithy-lang/smithy-java, the model of its serde benchmarks, json-rpc-1-0.
func BenchmarkPutItem(b *testing.B) {
	for _, each := range []struct {
		name string
		item table.Item
	}{
		{"Baseline", table.Item{}},
		{"ShallowMap_S", shallow(10)},
		{"ShallowMap_M", shallow(80)},
		{"ShallowMap_L", shallow(254)},
		{"Nested_M", nestedMaps(5)},
		{"Nested_L", nestedLists(14)},
		{"MixedItem_S", mixed(3, 3, 1)},
		{"MixedItem_M", mixed(30, 30, 10)},
		{"MixedItem_L", mixedLarge()},
		{"BinaryData_S", binaries(1, 20)},
		{"BinaryData_M", binaries(10, 144)},
	} {
		each.item["id"] = textValue("test-id")
		for _, lib := range []struct {
			name string
			put  func(testing.TB, *dynamodb.Client, table.Item) func(context.Context) error
		}{{"sdk", putBySDK}, {"table", putByTable}} {
			b.Run("item="+each.name+"/lib="+lib.name, func(b *testing.B) {
				local := tabletest.Client(b).Options()
				put := lib.put(b, dynamodb.New(dynamodb.Options{Region: local.Region, Credentials: local.Credentials, HTTPClient: writing{}}), each.item)
				for range 2 {
					must(b, put(b.Context()))
				}
				measure(b, func() error { return put(b.Context()) })
			})
		}
	}
}

const putTable = "test-table"

func putBySDK(_ testing.TB, client *dynamodb.Client, item table.Item) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(putTable), Item: item})
		return err
	}
}

func putByTable(tb testing.TB, client *dynamodb.Client, item table.Item) func(context.Context) error {
	tb.Helper()
	t, err := table.New(client, schema.Table{Name: putTable, PK: "id", SimpleKey: true}, nil)
	must(tb, err)
	put := table.Put(keys.Key{PK: "test-id"}, item)
	return func(ctx context.Context) error { return t.Do(ctx, put) }
}

// writing is a transport that responds as DynamoDB does to a write.
type writing struct{}

func (writing) Do(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amz-Crc32": {"2745614147"}},
		Body:   io.NopCloser(bytes.NewReader([]byte("{}"))), ContentLength: 2, Request: r,
	}, nil
}

func textValue(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func numberValue(n int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
}

func shallow(n int) table.Item {
	item := table.Item{}
	for i := 1; i <= n; i++ {
		item[fmt.Sprint("attr", i)] = textValue(fmt.Sprint("value", i))
	}
	return item
}

func nestedMaps(levels int) table.Item {
	value := types.AttributeValue(&types.AttributeValueMemberM{Value: table.Item{"deepValue": textValue("deep-nested-value")}})
	for i := levels - 1; i >= 1; i-- {
		value = &types.AttributeValueMemberM{Value: table.Item{fmt.Sprint("level", i): value}}
	}
	return table.Item{"nested": value}
}

func nestedLists(levels int) table.Item {
	value := types.AttributeValue(&types.AttributeValueMemberM{Value: table.Item{"deepValue": textValue("smithy parser limit reached")}})
	for i := 2*levels - 1; i >= 1; i -= 2 {
		value = &types.AttributeValueMemberM{Value: table.Item{
			fmt.Sprint("level", i): &types.AttributeValueMemberL{Value: []types.AttributeValue{value}},
		}}
	}
	return table.Item{"nested": value}
}

// mixed returns an item with two sets, a list and a map with so many of each of three types.
func mixed(inSets, inList, inMap int) table.Item {
	strings, numbers := &types.AttributeValueMemberSS{}, &types.AttributeValueMemberNS{}
	for i := 1; i <= inSets; i++ {
		strings.Value, numbers.Value = append(strings.Value, fmt.Sprint("item", i)), append(numbers.Value, strconv.Itoa(i))
	}
	list, inner := &types.AttributeValueMemberL{}, table.Item{}
	for i := 1; i <= inList; i += 3 {
		list.Value = append(list.Value, textValue(fmt.Sprint("listItem", i)), numberValue(100*(i/3)), &types.AttributeValueMemberBOOL{Value: i%2 == 1})
	}
	for i := 1; i <= inMap; i++ {
		inner[fmt.Sprint("stringAttr", i)], inner[fmt.Sprint("numberAttr", i)] = textValue(fmt.Sprint("value", i)), numberValue(101*i)
		inner[fmt.Sprint("boolAttr", i)] = &types.AttributeValueMemberBOOL{Value: i%2 == 0}
	}
	return table.Item{"stringSet": strings, "numberSet": numbers, "list": list, "mixedMap": &types.AttributeValueMemberM{Value: inner}}
}

// mixedLarge returns the item of medium size with itself in its list and in its map.
func mixedLarge() table.Item {
	item, medium := mixed(30, 30, 10), &types.AttributeValueMemberM{Value: mixed(30, 30, 10)}
	list := item["list"].(*types.AttributeValueMemberL)
	list.Value = append(list.Value, medium)
	item["mixedMap"].(*types.AttributeValueMemberM).Value["mediumMixedItem"] = medium
	return item
}

func binaries(n, words int) table.Item {
	item := table.Item{}
	for i := 1; i <= n; i++ {
		item[fmt.Sprint("binary", i)] = &types.AttributeValueMemberB{Value: []byte(strings.TrimSuffix(strings.Repeat("data ", words), " "))}
	}
	return item
}
