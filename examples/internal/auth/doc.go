// Package auth tells the API which user a request comes from, and in which groups
// the user is.
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
//	identity, err := verifier.Verify(ctx, token)
//	switch {
//	case errors.Is(err, auth.ErrUnauthorized): // the token is not valid: 401
//	case errors.Is(err, auth.ErrScope): // it is, for something else: 403
//	case errors.Is(err, auth.ErrUnavailable): // it cannot be checked now: 503
//	}
//
// # Keys
//
// The pool's keys are fetched when they are first needed, and kept. A token that
// names an unknown key makes the verifier fetch them again, since pools change
// their keys. That happens at most once in ten seconds, so that made-up key ids
// do not become requests to Cognito.
//
// After an hour, the next call fetches the keys before it uses them, which ends
// the trust in a key that the pool has withdrawn. This is also true in a Lambda
// function, whose process is frozen between calls. While the pool's address
// cannot be reached, the keys at hand are used until they are two hours old.
// From then on, every call returns [ErrUnavailable].
//
// # Development
//
// An [Issuer] is a user pool inside the process. Its tokens have the claims of
// Cognito's. Its [Issuer.Config] gives a verifier that works as in production,
// including the fetch of the keys.
package auth
