// Package sdk keeps the bookings of a ferry company with the AWS SDK for Go v2
// alone.
package sdk

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Booking is a number of seats on a ferry. It is found by its id, and in the
// list of its guest.
type Booking struct {
	ID      string    `dynamodbav:"id"`
	Guest   string    `dynamodbav:"guest"`
	Ferry   string    `dynamodbav:"ferry"`
	At      time.Time `dynamodbav:"at"`
	Seats   int       `dynamodbav:"seats"`
	Version int64     `dynamodbav:"version"`
}

// stored is a booking with its keys.
type stored struct {
	PK     string `dynamodbav:"pk"`
	SK     string `dynamodbav:"sk"`
	Type   string `dynamodbav:"entityType"`
	GSI1PK string `dynamodbav:"GSI1PK"`
	GSI1SK string `dynamodbav:"GSI1SK"`
	Booking
}

const (
	metadata   = "METADATA"
	timeFormat = "2006-01-02T15:04:05.000Z" // of one width, so that it sorts
)

func bookingPK(id string) string { return "BOOKING#" + id }

func item(b Booking) (map[string]types.AttributeValue, error) {
	return attributevalue.MarshalMap(stored{
		PK: bookingPK(b.ID), SK: metadata, Type: "BOOKING",
		GSI1PK:  "GUEST#" + b.Guest,
		GSI1SK:  "BOOKING#" + b.At.UTC().Format(timeFormat) + "#" + b.ID,
		Booking: b,
	})
}

func key(pk string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: pk},
		"sk": &types.AttributeValueMemberS{Value: metadata},
	}
}

// The ways in which a request can be refused.
var (
	ErrNotFound        = errors.New("no such booking")
	ErrExists          = errors.New("the booking exists")
	ErrConflict        = errors.New("the booking was changed concurrently")
	ErrFull            = errors.New("not enough seats")
	ErrPayloadMismatch = errors.New("the key was used for another request")
)

// Bookings reads and writes bookings.
type Bookings struct {
	client *dynamodb.Client
	table  *string
}

// New returns the bookings in a table.
func New(client *dynamodb.Client, table string) *Bookings {
	return &Bookings{client: client, table: aws.String(table)}
}

// Create stores a new booking.
func (s *Bookings) Create(ctx context.Context, b Booking) error {
	b.Version = 1
	values, err := item(b)
	if err != nil {
		return err
	}
	_, err = s.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: s.table, Item: values, ConditionExpression: aws.String("attribute_not_exists(pk)"),
	})
	if _, failed := errors.AsType[*types.ConditionalCheckFailedException](err); failed {
		return ErrExists // or the SDK's own second attempt met the first
	}
	return err
}

// Get reads a booking by its id.
func (s *Bookings) Get(ctx context.Context, id string) (Booking, error) {
	return s.get(ctx, id, false)
}

func (s *Bookings) get(ctx context.Context, id string, consistent bool) (b Booking, err error) {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: s.table, Key: key(bookingPK(id)), ConsistentRead: aws.Bool(consistent),
	})
	if err != nil {
		return b, err
	}
	if out.Item == nil {
		return b, ErrNotFound
	}
	return b, attributevalue.UnmarshalMap(out.Item, &b)
}

// Page reads some of a guest's bookings, newest first, and the token for the
// next ones.
func (s *Bookings) Page(ctx context.Context, of, after string) ([]Booking, string, error) {
	start, err := parseToken(after)
	if err != nil {
		return nil, "", err
	}
	pk := "GUEST#" + of
	if start != nil && start["GSI1PK"] != pk {
		return nil, "", errors.New("the token is another guest's")
	}
	in := &dynamodb.QueryInput{
		TableName: s.table, IndexName: aws.String("GSI1"),
		KeyConditionExpression: aws.String("GSI1PK = :pk AND begins_with(GSI1SK, :prefix)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk":     &types.AttributeValueMemberS{Value: pk},
			":prefix": &types.AttributeValueMemberS{Value: "BOOKING#"},
		},
		ScanIndexForward: aws.Bool(false), Limit: aws.Int32(20),
	}
	if start != nil {
		if in.ExclusiveStartKey, err = attributevalue.MarshalMap(start); err != nil {
			return nil, "", err
		}
	}
	out, err := s.client.Query(ctx, in)
	if err != nil {
		return nil, "", err
	}
	var bookings []Booking
	if err := attributevalue.UnmarshalListOfMaps(out.Items, &bookings); err != nil {
		return nil, "", err
	}
	next, err := makeToken(out.LastEvaluatedKey)
	return bookings, next, err
}

// makeToken returns a position as text. Its keys can be read by who gets it.
func makeToken(position map[string]types.AttributeValue) (string, error) {
	if position == nil {
		return "", nil
	}
	var keys map[string]string
	if err := attributevalue.UnmarshalMap(position, &keys); err != nil {
		return "", err
	}
	text, err := json.Marshal(keys)
	return base64.RawURLEncoding.EncodeToString(text), err
}

func parseToken(token string) (keys map[string]string, err error) {
	if token == "" {
		return nil, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return nil, err
	}
	return keys, json.Unmarshal(text, &keys)
}

// Move puts a booking on another departure.
func (s *Bookings) Move(ctx context.Context, id string, at time.Time) (Booking, error) {
	for range 8 {
		b, err := s.get(ctx, id, true)
		if err != nil {
			return b, err
		}
		was := b.Version
		b.At, b.Version = at, was+1
		values, err := item(b) // all of it: the index key has the time
		if err != nil {
			return b, err
		}
		_, err = s.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: s.table, Item: values, ConditionExpression: aws.String("version = :was"),
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":was": &types.AttributeValueMemberN{Value: strconv.FormatInt(was, 10)},
			},
		})
		if _, failed := errors.AsType[*types.ConditionalCheckFailedException](err); !failed {
			return b, err
		}
	}
	return Booking{}, ErrConflict
}

// Cancel removes a booking.
func (s *Bookings) Cancel(ctx context.Context, id string) error {
	_, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: s.table, Key: key(bookingPK(id))})
	return err
}

// Book stores a new booking and takes its seats, or neither.
func (s *Bookings) Book(ctx context.Context, b Booking) error {
	items, err := s.writes(b)
	if err != nil {
		return err
	}
	_, err = s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
	return s.refused(err)
}

func (s *Bookings) writes(b Booking) ([]types.TransactWriteItem, error) {
	b.Version = 1
	values, err := item(b)
	if err != nil {
		return nil, err
	}
	left := expression.Name("seatsLeft")
	take, err := expression.NewBuilder().
		WithUpdate(expression.Add(left, expression.Value(-b.Seats))).
		WithCondition(left.GreaterThanEqual(expression.Value(b.Seats))).Build()
	if err != nil {
		return nil, err
	}
	return []types.TransactWriteItem{
		{Put: &types.Put{
			TableName: s.table, Item: values, ConditionExpression: aws.String("attribute_not_exists(pk)"),
		}},
		{Update: &types.Update{
			TableName: s.table, Key: key("FERRY#" + b.Ferry),
			UpdateExpression: take.Update(), ConditionExpression: take.Condition(),
			ExpressionAttributeNames: take.Names(), ExpressionAttributeValues: take.Values(),
		}},
	}, nil
}

// refused says which of the writes was refused. Their order tells.
func (s *Bookings) refused(err error) error {
	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		for i, r := range cancelled.CancellationReasons {
			if aws.ToString(r.Code) == "ConditionalCheckFailed" {
				return []error{ErrExists, ErrFull}[i]
			}
		}
		return fmt.Errorf("%w: %w", ErrConflict, err) // the SDK does not try this again
	}
	return err
}

// record is stored for each request that was executed.
type record struct {
	PK        string  `dynamodbav:"pk"`
	SK        string  `dynamodbav:"sk"`
	ExpiresAt int64   `dynamodbav:"expiresAt"`
	Hash      []byte  `dynamodbav:"hash"`
	Result    Booking `dynamodbav:"result"`
}

// BookOnce is Book for a request that its client may repeat. A repeated one gets
// the booking that the first has made. AWS: "Using time to live (TTL) in DynamoDB", Amazon
// DynamoDB Developer Guide.
func (s *Bookings) BookOnce(ctx context.Context, requestKey string, b Booking) (Booking, error) {
	wanted := b
	wanted.ID = "" // each attempt draws another
	payload, err := json.Marshal(wanted)
	if err != nil {
		return b, err
	}
	hash := sha256.Sum256(payload)
	b.Version = 1
	pk := fmt.Sprintf("IDE#%s:Book#%s", b.Guest, requestKey)
	values, err := attributevalue.MarshalMap(record{
		PK: pk, SK: metadata, ExpiresAt: time.Now().Add(24 * time.Hour).Unix(), Hash: hash[:], Result: b,
	})
	if err != nil {
		return b, err
	}
	items, err := s.writes(b)
	if err != nil {
		return b, err
	}
	items = append(items, types.TransactWriteItem{Put: &types.Put{
		TableName: s.table, Item: values,
		// An expired record may still be there: TTL takes its time.
		ConditionExpression: aws.String("attribute_not_exists(pk) OR expiresAt <= :now"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":now": &types.AttributeValueMemberN{Value: strconv.FormatInt(time.Now().Unix(), 10)},
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}})
	_, err = s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
	cancelled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || len(cancelled.CancellationReasons) < len(items) {
		return b, err
	}
	// The record decides, whatever else was refused: what the first attempt did
	// can be why the second may not.
	last := cancelled.CancellationReasons[len(items)-1]
	if aws.ToString(last.Code) != "ConditionalCheckFailed" {
		return b, s.refused(err)
	}
	var was record
	if err := attributevalue.UnmarshalMap(last.Item, &was); err != nil {
		return b, err
	}
	if string(was.Hash) != string(hash[:]) {
		return b, ErrPayloadMismatch
	}
	return was.Result, nil
}
