package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// The environment variables that [ConfigFromEnv] reads.
const (
	envRegion     = "AWS_REGION"
	envUserPoolID = "COGNITO_USER_POOL_ID"
	envClientID   = "COGNITO_CLIENT_ID"
	envScope      = "COGNITO_SCOPE"
)

// DefaultScope is the scope of tokens that a user pool issues to its own app
// clients without OAuth.
const DefaultScope = "aws.cognito.signin.user.admin"

// Config says whose tokens are accepted. Region, UserPoolID and ClientID are
// required.
type Config struct {
	Region     string // of the user pool, such as eu-west-1
	UserPoolID string // such as eu-west-1_AbCdEfGhI
	ClientID   string // the app client that the tokens were issued for

	// Scope is the scope that a token must have. Empty means [DefaultScope].
	Scope string

	// HTTPClient fetches the pool's keys. Nil means [http.DefaultClient]. Every
	// fetch is limited in time and size whatever the client's own limits are, and
	// redirects are not followed.
	HTTPClient *http.Client

	// Now is the clock that tokens and keys are aged by. Nil means [time.Now].
	Now func() time.Time

	// Log gets a warning when the keys could not be fetched. Nil means none.
	Log *slog.Logger
}

// ConfigFromEnv reads COGNITO_USER_POOL_ID, COGNITO_CLIENT_ID, AWS_REGION and the
// optional COGNITO_SCOPE with getenv, which is usually [os.Getenv]. The error
// names every required variable that is not set.
func ConfigFromEnv(getenv func(string) string) (Config, error) {
	c := Config{
		Region:     getenv(envRegion),
		UserPoolID: getenv(envUserPoolID),
		ClientID:   getenv(envClientID),
		Scope:      getenv(envScope),
	}
	return c, c.missing()
}

func (c Config) missing() error {
	var names []string
	for _, v := range []struct{ name, value string }{
		{envUserPoolID, c.UserPoolID},
		{envClientID, c.ClientID},
		{envRegion, c.Region},
	} {
		if v.value == "" {
			names = append(names, v.name)
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("auth: not set: %s", strings.Join(names, ", "))
	}
	return nil
}

// Both become part of an address, so nothing that could lead elsewhere passes.
var (
	regionForm = regexp.MustCompile(`^[a-z0-9-]+$`)
	poolForm   = regexp.MustCompile(`^[a-z0-9-]+_[0-9A-Za-z]+$`)
)

// scopeForm is that of one scope in RFC 6749.
var scopeForm = regexp.MustCompile(`^[!#-\[\]-~]+$`)

func (c Config) validate() error {
	if err := c.missing(); err != nil {
		return err
	}
	if !regionForm.MatchString(c.Region) {
		return fmt.Errorf("auth: %s is not a region: %q", envRegion, c.Region)
	}
	if !poolForm.MatchString(c.UserPoolID) {
		return fmt.Errorf("auth: %s is not the id of a user pool: %q", envUserPoolID, c.UserPoolID)
	}
	if !strings.HasPrefix(c.UserPoolID, c.Region+"_") {
		return fmt.Errorf("auth: the user pool %s is not in the region %s", c.UserPoolID, c.Region)
	}
	if c.Scope != "" && !scopeForm.MatchString(c.Scope) {
		return fmt.Errorf("auth: %s is not one scope: %q", envScope, c.Scope)
	}
	return nil
}

func (c Config) issuer() string {
	return "https://cognito-idp." + c.Region + ".amazonaws.com/" + c.UserPoolID
}

func (c Config) keysURL() string {
	return c.issuer() + "/.well-known/jwks.json"
}

// maxKeys limits the response to a fetch of keys, in bytes. Cognito's has less
// than a thousand.
const maxKeys = 64 << 10

// keysClient returns a copy of the configured client that does not follow
// redirects.
func (c Config) keysClient() *http.Client {
	client := *http.DefaultClient
	if c.HTTPClient != nil {
		client = *c.HTTPClient
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return errors.New("redirected")
	}
	return &client
}
