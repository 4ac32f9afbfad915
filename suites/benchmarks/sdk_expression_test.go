package main_test

import (
	"crypto/rand"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// openSDKExpression returns the SDK with attributevalue, and the SDK's expression
// package for the expressions. Its get is that of sdk: how much the two differ
// there is noise.
func openSDKExpression(client *dynamodb.Client, tableName string) library {
	return sdk{client, &tableName, encodeValue, decodeValue, built{}}
}

// built are expressions of the expression package.
type built struct{}

func build(b expression.Builder) (text, error) {
	x, err := b.Build()
	return text{x.KeyCondition(), x.Update(), x.Condition(), x.Names(), x.Values()}, err
}

func (built) page(user string) (text, error) {
	return build(expression.NewBuilder().WithKeyCondition(
		expression.Key("pk").Equal(expression.Value(userPK(user))).
			And(expression.Key("sk").BeginsWith("TX#")),
	))
}

func (built) absent() (text, error) {
	return build(expression.NewBuilder().WithCondition(expression.AttributeNotExists(expression.Name("pk"))))
}

func (built) change(old record, amount int64) (text, error) {
	return build(expression.NewBuilder().
		WithUpdate(expression.Set(expression.Name("amount"), expression.Value(amount)).
			Set(expression.Name("revision"), expression.Value(rand.Text()))).
		WithCondition(expression.Name("revision").Equal(expression.Value(old.Revision))))
}

func (built) take(amount int64) (text, error) {
	a, by := expression.Name("amount"), expression.Value(amount)
	return build(expression.NewBuilder().
		WithUpdate(expression.Set(a, a.Minus(by))).
		WithCondition(expression.Name("status").Equal(expression.Value("open")).And(a.GreaterThanEqual(by))))
}
