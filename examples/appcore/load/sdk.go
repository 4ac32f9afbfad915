package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// sdk handles the requests of the load with the SDK alone, and sends DynamoDB
// the operations of the API. The API is compared with it. It leaves out what an
// API needs: the token is the user's name; it checks no input, seals no cursor,
// keeps no page and logs nothing; it looks for no record of a former program,
// and does not notice a key that is used for another body.
type sdk struct {
	client *dynamodb.Client
	table  *string
}

func sdkHandler(client *dynamodb.Client, table string) http.Handler {
	s := sdk{client, &table}
	mux := http.NewServeMux()
	for pattern, serve := range map[string]func(r *http.Request, user string) (int, any, error){
		"POST /transactions":       s.create,
		"GET /transactions/{id}":   s.get,
		"GET /transactions":        s.list("TX#", 20),
		"GET /notifications":       s.list("NOTIF#", 20),
		"GET /transactions/global": s.newest,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			status, v, err := serve(r, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(v)
		})
	}
	return mux
}

// payment is a transaction as it is stored and shown.
type payment struct {
	ID        string `json:"txId" dynamodbav:"txId"`
	User      string `json:"userId" dynamodbav:"userId"`
	Amount    int64  `json:"amount" dynamodbav:"amount"`
	Currency  string `json:"currency" dynamodbav:"currency"`
	Status    string `json:"status" dynamodbav:"status"`
	CreatedAt string `json:"createdAt" dynamodbav:"createdAt"`
}

type payments struct {
	Items   []payment `json:"items"`
	LastKey string    `json:"lastKey,omitempty"`
}

type item = map[string]types.AttributeValue

func text(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

func key(pk, sk string) item { return item{"pk": text(pk), "sk": text(sk)} }

func (s sdk) create(r *http.Request, user string) (int, any, error) {
	var p payment
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		return 0, nil, err
	}
	now := time.Now().UTC()
	p.ID, p.User, p.Status = "tx-"+strings.ToLower(rand.Text()), user, "PENDING"
	p.CreatedAt = now.Format("2006-01-02T15:04:05.000Z")
	body, err := json.Marshal(p)
	if err != nil {
		return 0, nil, err
	}
	put := func(at item, unless *string, v any) (types.TransactWriteItem, error) {
		all, err := attributevalue.MarshalMap(v)
		for name, value := range at {
			all[name] = value
		}
		return types.TransactWriteItem{Put: &types.Put{TableName: s.table, Item: all, ConditionExpression: unless}}, err
	}
	missing := aws.String("attribute_not_exists(pk)")
	main := key("TX#"+p.ID, "METADATA")
	main["GSI1PK"], main["GSI1SK"] = text(shards[int(p.ID[len(p.ID)-1])%len(shards)]), text(p.CreatedAt+"#"+p.ID)
	record := key("IDE#"+user+"#"+r.Header.Get("Idempotency-Key"), "METADATA")
	record["expiresAt"] = &types.AttributeValueMemberN{Value: strconv.FormatInt(now.Add(24*time.Hour).Unix(), 10)}
	first, err1 := put(main, missing, p)
	second, err2 := put(key("USER#"+user, "TX#"+p.CreatedAt+"#"+p.ID), missing, p)
	third, err3 := put(record, missing, map[string]any{"body": body})
	if err := errors.Join(err1, err2, err3); err != nil {
		return 0, nil, err
	}
	_, err = s.client.TransactWriteItems(r.Context(), &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{first, second, third},
	})
	if _, canceled := errors.AsType[*types.TransactionCanceledException](err); !canceled {
		return http.StatusCreated, p, err
	}
	delete(record, "expiresAt")
	var stored struct {
		Body []byte `dynamodbav:"body"`
	}
	if err := s.read(r.Context(), record, &stored); err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, json.RawMessage(stored.Body), nil
}

func (s sdk) get(r *http.Request, user string) (int, any, error) {
	var p payment
	err := s.read(r.Context(), key("TX#"+r.PathValue("id"), "METADATA"), &p)
	if err == nil && p.User != user {
		return http.StatusForbidden, nil, nil
	}
	return http.StatusOK, p, err
}

var errMissing = errors.New("no such item")

func (s sdk) read(ctx context.Context, at item, into any) error {
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: s.table, Key: at, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return err
	}
	if out.Item == nil {
		return errMissing
	}
	return attributevalue.UnmarshalMap(out.Item, into)
}

func (s sdk) list(prefix string, limit int) func(*http.Request, string) (int, any, error) {
	return func(r *http.Request, user string) (int, any, error) {
		limit := int32(limit)
		if asked, err := strconv.ParseInt(r.FormValue("limit"), 10, 32); err == nil {
			limit = int32(asked)
		}
		in := &dynamodb.QueryInput{
			TableName: s.table, Limit: &limit, ScanIndexForward: aws.Bool(false),
			KeyConditionExpression:    aws.String("pk = :pk AND begins_with(sk, :sk)"),
			ExpressionAttributeValues: item{":pk": text("USER#" + user), ":sk": text(prefix)},
		}
		if cursor := r.FormValue("lastKey"); cursor != "" {
			sk, err := base64.RawURLEncoding.DecodeString(cursor)
			if err != nil {
				return 0, nil, err
			}
			in.ExclusiveStartKey = key("USER#"+user, string(sk))
		}
		out, err := s.client.Query(r.Context(), in)
		if err != nil {
			return 0, nil, err
		}
		page := payments{Items: []payment{}}
		if sk, more := out.LastEvaluatedKey["sk"].(*types.AttributeValueMemberS); more {
			page.LastKey = base64.RawURLEncoding.EncodeToString([]byte(sk.Value))
		}
		return http.StatusOK, &page, attributevalue.UnmarshalListOfMaps(out.Items, &page.Items)
	}
}

// shards are the partitions of the index.
var shards = []string{"GLOBAL_TX", "GLOBAL_TX#1", "GLOBAL_TX#2", "GLOBAL_TX#3"}

func (s sdk) newest(r *http.Request, _ string) (int, any, error) {
	const limit = 10
	pages, errs := make([][]payment, len(shards)), make([]error, len(shards))
	var group sync.WaitGroup
	for i, shard := range shards {
		group.Go(func() {
			out, err := s.client.Query(r.Context(), &dynamodb.QueryInput{
				TableName: s.table, IndexName: aws.String("GSI1"), Limit: aws.Int32(limit), ScanIndexForward: aws.Bool(false),
				KeyConditionExpression:    aws.String("GSI1PK = :pk"),
				ExpressionAttributeValues: item{":pk": text(shard)},
			})
			if errs[i] = err; err == nil {
				errs[i] = attributevalue.UnmarshalListOfMaps(out.Items, &pages[i])
			}
		})
	}
	group.Wait()
	all := slices.Concat(pages...)
	slices.SortFunc(all, func(a, b payment) int { return strings.Compare(b.CreatedAt+b.ID, a.CreatedAt+a.ID) })
	return http.StatusOK, payments{Items: all[:min(limit, len(all))]}, errors.Join(errs...)
}
