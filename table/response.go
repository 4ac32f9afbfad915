package table

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/item"
)

// readResponse reads a response from its first byte to its last: items become values,
// and out, which is the output of the SDK's client, gets the rest. It returns false, and
// leaves out as it is, for a response that is not as DynamoDB sends it. s keeps its first
// items, and is nil if none are wanted.
func (s *items) readResponse(kept int, body []byte, out any) bool {
	if s != nil {
		s.begin(kept)
	}
	in := item.NewParser(body)
	switch out := out.(type) {
	case *dynamodb.GetItemOutput:
		return keep(out, dynamodb.GetItemOutput{ConsumedCapacity: s.single(in, "Item")}, in)
	case *dynamodb.BatchGetItemOutput:
		return keep(out, s.batchGetItem(in), in)
	case *dynamodb.TransactGetItemsOutput:
		return keep(out, s.transactGetItems(in), in)
	case *dynamodb.QueryOutput:
		return keep(out, s.readQuery(in), in)
	case *dynamodb.ScanOutput:
		return keep(out, s.scan(in), in)
	case *dynamodb.PutItemOutput:
		return keep(out, dynamodb.PutItemOutput{ConsumedCapacity: s.single(in, "Attributes")}, in)
	case *dynamodb.UpdateItemOutput:
		return keep(out, dynamodb.UpdateItemOutput{ConsumedCapacity: s.single(in, "Attributes")}, in)
	case *dynamodb.DeleteItemOutput:
		return keep(out, dynamodb.DeleteItemOutput{ConsumedCapacity: s.single(in, "Attributes")}, in)
	case *dynamodb.SearchVectorsOutput:
		return keep(out, s.searchVectors(in), in)
	case *dynamodb.BatchWriteItemOutput:
		return keep(out, dynamodb.BatchWriteItemOutput{ConsumedCapacity: several(in)}, in)
	case *dynamodb.TransactWriteItemsOutput:
		return keep(out, dynamodb.TransactWriteItemsOutput{ConsumedCapacity: several(in)}, in)
	}
	return false
}

// keep sets out to the output that was read, if that was all of the response.
func keep[Out any](out *Out, read Out, in *item.Parser) bool {
	whole := in.Whole()
	if whole {
		*out = read
	}
	return whole
}

// single reads a response that has an item, under that name, and what it has consumed.
func (s *items) single(in *item.Parser, member string) (capacity *types.ConsumedCapacity) {
	for name := range in.Members {
		switch string(name) {
		case member:
			if in.Check(s != nil) {
				s.readItem(in, 0)
			}
		case "ConsumedCapacity":
			capacity = consumed(in)
		default:
			in.Skip()
		}
	}
	return capacity
}

// several reads what several writes have consumed. What a batch has left, the client reads.
func several(in *item.Parser) (capacity []types.ConsumedCapacity) {
	for name := range in.Members {
		switch string(name) {
		case "UnprocessedItems":
			for range in.Members {
				in.Check(false)
			}
		case "ConsumedCapacity":
			capacity = consumedEach(in)
		default:
			in.Skip()
		}
	}
	return capacity
}

func (s *items) batchGetItem(in *item.Parser) (out dynamodb.BatchGetItemOutput) {
	for name := range in.Members {
		switch string(name) {
		case "Responses":
			for table := range in.Members {
				in.Check(string(table) == s.t.schema.Name) // which is the one that was asked for
				s.readItems(in)
			}
		case "UnprocessedKeys":
			out.UnprocessedKeys = map[string]types.KeysAndAttributes{}
			for table := range in.Members {
				out.UnprocessedKeys[string(table)] = unprocessed(in)
			}
		case "ConsumedCapacity":
			out.ConsumedCapacity = consumedEach(in)
		default:
			in.Skip()
		}
	}
	return out
}

// transactGetItems reads results of which each has an item or not.
func (s *items) transactGetItems(in *item.Parser) (out dynamodb.TransactGetItemsOutput) {
	for name := range in.Members {
		switch string(name) {
		case "Responses":
			for i := range in.Elements {
				s.result(in, i)
				out.Responses = append(out.Responses, types.ItemResponse{})
			}
		case "ConsumedCapacity":
			out.ConsumedCapacity = consumedEach(in)
		default:
			in.Skip()
		}
	}
	return out
}

// result reads one of several results: an item, and in a search its score.
func (s *items) result(in *item.Parser, i int) (score float64) {
	for name := range in.Members {
		switch string(name) {
		case "Item":
			s.readItem(in, i)
		case "Score":
			score = in.Float64()
		default:
			in.Skip()
		}
	}
	return score
}

func (s *items) readQuery(in *item.Parser) (out dynamodb.QueryOutput) {
	for name := range in.Members {
		switch string(name) {
		case "Items":
			s.readItems(in)
		case "Count":
			out.Count = in.Int32()
		case "ScannedCount":
			out.ScannedCount = in.Int32()
		case "LastEvaluatedKey":
			out.LastEvaluatedKey = in.Attributes()
		case "ConsumedCapacity":
			out.ConsumedCapacity = consumed(in)
		default:
			in.Skip()
		}
	}
	return out
}

// scan reads what a query's response has, too.
func (s *items) scan(in *item.Parser) dynamodb.ScanOutput {
	read := s.readQuery(in)
	return dynamodb.ScanOutput{
		Count: read.Count, ScannedCount: read.ScannedCount,
		LastEvaluatedKey: read.LastEvaluatedKey, ConsumedCapacity: read.ConsumedCapacity,
	}
}

func (s *items) searchVectors(in *item.Parser) (out dynamodb.SearchVectorsOutput) {
	for name := range in.Members {
		switch string(name) {
		case "SearchResults":
			for i := range in.Elements {
				out.SearchResults = append(out.SearchResults, types.SearchResultItem{Score: s.result(in, i)})
			}
		case "ConsumedCapacity":
			out.ConsumedCapacity = new(consumedVectors(in))
		default:
			in.Skip()
		}
	}
	return out
}

// unprocessed reads the keys of a table that a batch left out.
func unprocessed(in *item.Parser) (left types.KeysAndAttributes) {
	for name := range in.Members {
		if string(name) != "Keys" {
			in.Skip() // it is as in the request
			continue
		}
		for range in.Elements {
			left.Keys = append(left.Keys, in.Attributes())
		}
	}
	return left
}

func consumed(in *item.Parser) *types.ConsumedCapacity {
	c := &types.ConsumedCapacity{}
	for name := range in.Members {
		switch string(name) {
		case "TableName":
			c.TableName = new(in.String())
		case "CapacityUnits":
			c.CapacityUnits = new(in.Float64())
		case "ReadCapacityUnits":
			c.ReadCapacityUnits = new(in.Float64())
		case "VectorIndexes":
			c.VectorIndexes = map[string]types.VectorCapacity{}
			for index := range in.Members {
				c.VectorIndexes[string(index)] = consumedVectors(in)
			}
		default:
			in.Skip()
		}
	}
	return c
}

func consumedVectors(in *item.Parser) (c types.VectorCapacity) {
	for name := range in.Members {
		switch string(name) {
		case "VectorSearchRequestBytes":
			c.VectorSearchRequestBytes = new(in.Float64())
		case "VectorWriteRequestBytes":
			c.VectorWriteRequestBytes = new(in.Float64())
		default:
			in.Skip()
		}
	}
	return c
}

func consumedEach(in *item.Parser) (all []types.ConsumedCapacity) {
	for range in.Elements {
		all = append(all, *consumed(in))
	}
	return all
}

// takeOutput takes the items of an output, whose client has read the response itself.
func (s *items) takeOutput(out any) {
	switch out := out.(type) {
	case *dynamodb.GetItemOutput:
		s.takeItem(out.Item, 0, 0)
	case *dynamodb.BatchGetItemOutput:
		s.takeItems(out.Responses[s.t.schema.Name])
	case *dynamodb.TransactGetItemsOutput:
		for i, result := range out.Responses {
			s.takeItem(result.Item, i, len(out.Responses)-i-1)
		}
	case *dynamodb.QueryOutput:
		s.takeItems(out.Items)
	case *dynamodb.ScanOutput:
		s.takeItems(out.Items)
	case *dynamodb.UpdateItemOutput:
		s.takeItem(out.Attributes, 0, 0)
	case *dynamodb.DeleteItemOutput:
		s.takeItem(out.Attributes, 0, 0)
	case *dynamodb.SearchVectorsOutput:
		for i, result := range out.SearchResults {
			s.takeItem(result.Item, i, len(out.SearchResults)-i-1)
		}
	}
}

// consumption returns what an output says that its request has consumed: units, and the
// bytes of a search or of a write in vector indexes.
func consumption(out any) (units, vectorBytes float64) {
	add := func(c *types.ConsumedCapacity) {
		if c == nil {
			return
		}
		units += aws.ToFloat64(c.CapacityUnits)
		for _, index := range c.VectorIndexes {
			vectorBytes += aws.ToFloat64(index.VectorWriteRequestBytes)
		}
	}
	switch consumed := reflect.ValueOf(out).Elem().FieldByName("ConsumedCapacity").Addr().Interface().(type) {
	case **types.ConsumedCapacity:
		add(*consumed)
	case *[]types.ConsumedCapacity:
		for i := range *consumed {
			add(&(*consumed)[i])
		}
	case **types.VectorCapacity:
		if *consumed != nil {
			vectorBytes = aws.ToFloat64((*consumed).VectorSearchRequestBytes)
		}
	}
	return units, vectorBytes
}

func capacity(consumed *types.ConsumedCapacity) float64 {
	if consumed == nil {
		return 0
	}
	return aws.ToFloat64(consumed.CapacityUnits)
}
