package auth_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/singletable/singletable/examples/internal/auth"
)

func Example() {
	issuer, err := auth.NewIssuer(nil)
	if err != nil {
		panic(err)
	}
	verifier, err := auth.NewCognito(issuer.Config())
	if err != nil {
		panic(err)
	}
	token, err := issuer.Token("u-123", "backoffice")
	if err != nil {
		panic(err)
	}

	identity, err := verifier.Verify(context.Background(), token)
	fmt.Println(identity.User, identity.In("backoffice"), identity.In("auditor"), err)

	_, err = verifier.Verify(context.Background(), token[:len(token)-10])
	fmt.Println(err)
	fmt.Println(errors.Is(err, auth.ErrUnauthorized))

	// Output:
	// u-123 true false <nil>
	// auth: unauthorized: token signature is invalid
	// true
}

func ExampleConfigFromEnv() {
	env := map[string]string{"AWS_REGION": "eu-west-1"}
	_, err := auth.ConfigFromEnv(func(name string) string { return env[name] })
	fmt.Println(err)

	// Output:
	// auth: not set: COGNITO_USER_POOL_ID, COGNITO_CLIENT_ID
}
