// Package auth tells the API which user a request comes from.
//
// A [Verifier] checks access tokens of one Amazon Cognito user pool, issued for
// one app client. It trusts nothing in a token until the signature has been
// verified with a key that the pool publishes:
//
//	config, err := auth.ConfigFromEnv(os.Getenv)
//	if err != nil {
//		return err // names the variables that are not set
//	}
//	verifier, err := auth.NewCognito(config)
//	if err != nil {
//		return err
//	}
//	user, err := verifier.Verify(ctx, token)
//	switch {
//	case errors.Is(err, auth.ErrUnauthorized): // the token is no good: 401
//	case errors.Is(err, auth.ErrUnavailable): // nobody can tell now: 503
//	}
//
// # Keys
//
// The pool's keys are fetched when they are first needed, or by
// [Verifier.Ready], and kept. A token that names a key which is not among them
// makes the verifier look again, since pools change their keys; but no more than
// once in ten seconds, so that made-up key ids do not become requests to
// Cognito. Once an hour the keys are fetched again in the background, which ends
// the trust in a key that the pool has withdrawn. While the pool's address
// cannot be reached, tokens of the keys at hand are still accepted.
//
// # Development
//
// An [Issuer] is a user pool inside the process. Its tokens have the claims of
// Cognito's, and its [Issuer.Config] gives a verifier that takes the same path as
// in production, down to the fetching of the keys.
package auth
