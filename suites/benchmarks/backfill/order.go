package backfill

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

const orderType = "ORDER"

// order0 and order are an order as the first and the third release have it. The second
// one splits the total, the third one renames the note and adds a tier.
type order0 struct {
	ID       string `dynamodbav:"id"`
	Total    string `dynamodbav:"total"`
	Note     string `dynamodbav:"note"`
	Text     string `dynamodbav:"text"`
	N        int    `dynamodbav:"n"`
	Revision string `dynamodbav:"revision"`
}

type order struct {
	ID       string `dynamodbav:"id"`
	Amount   string `dynamodbav:"amount"`
	Currency string `dynamodbav:"currency"`
	Remark   string `dynamodbav:"remark"`
	Tier     string `dynamodbav:"tier"`
	Text     string `dynamodbav:"text"`
	N        int    `dynamodbav:"n"`
	Revision string `dynamodbav:"revision"`
}

const shapes = 3

func orderID(i int) string { return fmt.Sprintf("o-%08d", i) }

func orderKey(id string) keys.Key {
	return keys.Key{PK: keys.Prefix("ORDER").PK(id), SK: keys.Metadata}
}

// wanted returns the ith order as the present release reads it, with N 0 and without
// a revision.
func wanted(i int) order {
	return order{
		ID: orderID(i), Amount: fmt.Sprintf("%d.50", i), Currency: []string{"EUR", "USD"}[i%2],
		Remark: "note of " + strconv.Itoa(i), Tier: "basic", Text: text,
	}
}

// An item has a little less than 1 KB in each shape.
var text = strings.Repeat("x", 800)

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(n int) types.AttributeValue    { return &types.AttributeValueMemberN{Value: strconv.Itoa(n)} }

// stored returns the ith order as it is stored at first, in one of the shapes.
func stored(i int) table.Item {
	w := wanted(i)
	item := table.Item{
		"entityType": str(orderType), "id": str(w.ID), "text": str(w.Text), "n": num(0), "revision": str("R" + w.ID),
	}
	shape := i % shapes
	if shape > 0 {
		item["entityShape"] = num(shape)
		item["amount"], item["currency"] = str(w.Amount), str(w.Currency)
	} else {
		item["total"] = str(w.Amount + " " + w.Currency)
	}
	if shape > 1 {
		item["remark"], item["tier"] = str(w.Remark), str(w.Tier)
	} else {
		item["note"] = str(w.Remark)
	}
	return item
}

func split(item table.Item) error {
	total, ok := item["total"].(*types.AttributeValueMemberS)
	if !ok {
		return fmt.Errorf("there is no total")
	}
	amount, currency, _ := strings.Cut(total.Value, " ")
	delete(item, "total")
	item["amount"], item["currency"] = str(amount), str(currency)
	return nil
}

func second(item table.Item) error {
	item["remark"], item["tier"] = item["note"], str("basic")
	delete(item, "note")
	return nil
}

func openOrders(tbl *table.Table) (*repo.Repo[order], error) {
	return repo.New(tbl, repo.Entity[order]{
		Type: orderType, Version: "revision", Key: func(o order) keys.Key { return orderKey(o.ID) },
		Upgrades: []repo.Upgrade{
			{Change: split, Writes: []string{"amount", "currency"}, Removes: []string{"total"}},
			{Change: second, Writes: []string{"remark", "tier"}, Removes: []string{"note"}},
		},
	})
}

func openOrders0(tbl *table.Table) (*repo.Repo[order0], error) {
	return repo.New(tbl, repo.Entity[order0]{
		Type: orderType, Version: "revision", Key: func(o order0) keys.Key { return orderKey(o.ID) },
	})
}
