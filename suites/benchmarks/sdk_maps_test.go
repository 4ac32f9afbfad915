package main_test

import (
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// openSDKMaps returns the SDK with items made of records, and records of items, by
// code that is written by hand for this one type: what is left of the SDK's cost
// without attributevalue.
func openSDKMaps(client *dynamodb.Client, tableName string) library {
	return sdk{client, &tableName, item, fromItem}
}

// item writes a record as attributevalue does.
func item(r record) (map[string]types.AttributeValue, error) {
	tags := make([]types.AttributeValue, len(r.Tags))
	for i, tag := range r.Tags {
		tags[i] = stringValue(tag)
	}
	return map[string]types.AttributeValue{
		"pk":         stringValue(r.PK),
		"sk":         stringValue(r.SK),
		"entityType": stringValue(r.Type),
		"id":         stringValue(r.ID),
		"userId":     stringValue(r.UserID),
		"amount":     &types.AttributeValueMemberN{Value: strconv.FormatInt(r.Amount, 10)},
		"status":     stringValue(r.Status),
		"createdAt":  stringValue(r.CreatedAt.Format(time.RFC3339Nano)),
		"tags":       &types.AttributeValueMemberL{Value: tags},
		"note":       stringValue(r.Note),
		"revision":   stringValue(r.Revision),
	}, nil
}

// fromItem reads what item has written.
func fromItem(item map[string]types.AttributeValue, r *record) error {
	var err error
	text := func(v types.AttributeValue) string {
		s, ok := v.(*types.AttributeValueMemberS)
		if !ok {
			err = errors.New("not a string")
			return ""
		}
		return s.Value
	}
	r.PK, r.SK, r.Type = text(item["pk"]), text(item["sk"]), text(item["entityType"])
	r.ID, r.UserID, r.Status, r.Note = text(item["id"]), text(item["userId"]), text(item["status"]), text(item["note"])
	r.Revision = text(item["revision"])
	tags, _ := item["tags"].(*types.AttributeValueMemberL)
	amount, _ := item["amount"].(*types.AttributeValueMemberN)
	created := text(item["createdAt"])
	if err != nil || tags == nil || amount == nil {
		return errors.Join(err, errors.New("not a record"))
	}
	r.Tags = make([]string, len(tags.Value))
	for i, tag := range tags.Value {
		r.Tags[i] = text(tag)
	}
	var badNumber, badTime error
	r.Amount, badNumber = strconv.ParseInt(amount.Value, 10, 64)
	r.CreatedAt, badTime = time.Parse(time.RFC3339, created)
	return errors.Join(err, badNumber, badTime)
}
