package faq

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Invoice has a price of up to 38 digits.
type Invoice struct {
	ID    string                `dynamodbav:"invoiceId"`
	Cents int64                 `dynamodbav:"cents"` // money: whole minor units
	Rate  attributevalue.Number `dynamodbav:"rate"`  // any decimal: its digits as text
	Terms Compressed            `dynamodbav:"terms"`
}

// Compressed is a text that is stored compressed.
type Compressed string

// MarshalDynamoDBAttributeValue implements [attributevalue.Marshaler].
func (c Compressed) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, string(c)); err != nil {
		return nil, err
	}
	err := w.Close()
	return &types.AttributeValueMemberB{Value: b.Bytes()}, err
}

// UnmarshalDynamoDBAttributeValue implements [attributevalue.Unmarshaler].
func (c *Compressed) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	stored, ok := v.(*types.AttributeValueMemberB)
	if !ok {
		return fmt.Errorf("a compressed text is a %T", v)
	}
	r, err := gzip.NewReader(bytes.NewReader(stored.Value))
	if err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(r, 4<<20))
	*c = Compressed(text)
	return err
}
