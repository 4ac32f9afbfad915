package table

import (
	"errors"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/response"
	"github.com/singletable/singletable/keys"
)

// partitions returns the partition key of each item that a request is about, of the index
// in a query of one, and how many of them a batch or transaction has. A scan has none.
func (t *Table) partitions(in any) (all []keys.PK, batch int) {
	add := func(attributes map[string]types.AttributeValue) {
		_, pk := keyText(attributes[t.schema.PK])
		all = append(all, keys.PK(pk))
	}
	switch in := in.(type) {
	case *dynamodb.GetItemInput:
		add(in.Key)
	case *dynamodb.PutItemInput:
		add(in.Item)
	case *dynamodb.UpdateItemInput:
		add(in.Key)
	case *dynamodb.DeleteItemInput:
		add(in.Key)
	case *dynamodb.QueryInput:
		_, pk := keyText(in.ExpressionAttributeValues[":pk"])
		for i := 1; i < len(t.layouts[aws.ToString(in.IndexName)].partition); i++ {
			_, text := keyText(in.ExpressionAttributeValues[":k"+strconv.Itoa(i)])
			pk += "#" + text
		}
		return []keys.PK{keys.PK(pk)}, 0
	case *dynamodb.SearchVectorsInput:
		if x, _ := t.vectorIndex(aws.ToString(in.IndexName)); x.Partition.Name != "" {
			_, pk := keyText(in.ExpressionAttributeValues[":s0"])
			return []keys.PK{keys.PK(pk)}, 0
		}
	default:
		t.eachInBatch(in, add)
		return all, len(all)
	}
	return all, 0
}

// eachInBatch gives add the item or key of each read or write of a batch or transaction.
func (t *Table) eachInBatch(in any, add func(map[string]types.AttributeValue)) {
	switch in := in.(type) {
	case *dynamodb.BatchGetItemInput:
		for _, key := range in.RequestItems[*t.name].Keys {
			add(key)
		}
	case *dynamodb.BatchWriteItemInput:
		for _, write := range in.RequestItems[*t.name] {
			if write.PutRequest != nil {
				add(write.PutRequest.Item)
			} else {
				add(write.DeleteRequest.Key)
			}
		}
	case *dynamodb.TransactGetItemsInput:
		for _, item := range in.TransactItems {
			add(item.Get.Key)
		}
	case *dynamodb.TransactWriteItemsInput:
		for _, item := range in.TransactItems {
			switch {
			case item.Put != nil:
				add(item.Put.Item)
			case item.Update != nil:
				add(item.Update.Key)
			case item.Delete != nil:
				add(item.Delete.Key)
			default:
				add(item.ConditionCheck.Key)
			}
		}
	}
}

// throttles returns why an attempt was throttled, nothing if it was not. Where
// DynamoDB gives no reason, it is the code of the error.
func throttles(err error) (reasons []types.ThrottlingReason) {
	var codes []string
	if e, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); ok {
		reasons = e.ThrottlingReasons
	} else if e, ok := errors.AsType[*types.ThrottlingException](err); ok {
		reasons = e.ThrottlingReasons
	} else if e, ok := errors.AsType[*types.RequestLimitExceeded](err); ok {
		reasons = e.ThrottlingReasons
	} else if e, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		for _, r := range e.CancellationReasons {
			codes = append(codes, aws.ToString(r.Code))
		}
	}
	api, status := response.Of(err)
	if api != nil && len(reasons) == 0 && codes == nil {
		codes = []string{api.ErrorCode()}
	}
	for _, code := range codes {
		if errors.Is(kindOf(code), ErrThrottled) {
			reasons = append(reasons, types.ThrottlingReason{Reason: aws.String(code)})
		}
	}
	if len(reasons) == 0 && status == response.StatusTooManyRequests {
		reasons = []types.ThrottlingReason{{Reason: aws.String("TooManyRequests")}}
	}
	return reasons
}
