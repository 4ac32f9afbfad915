package auth_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/singletable/singletable/examples/internal/auth"
)

func TestConfigFromEnv(t *testing.T) {
	t.Parallel()
	env := map[string]string{"COGNITO_USER_POOL_ID": poolID, "COGNITO_CLIENT_ID": clientID, "AWS_REGION": region, "COGNITO_SCOPE": "a/b"}
	got, err := auth.ConfigFromEnv(func(name string) string { return env[name] })
	want := auth.Config{Region: region, UserPoolID: poolID, ClientID: clientID, Scope: "a/b"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, config (-want +got):\n%s", err, diff)
	}
	if _, err := auth.NewCognito(got); err != nil {
		t.Error(err)
	}
}

func TestNewCognitoRefusesConfig(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		config auth.Config
		want   string
	}{
		"nothing":         {auth.Config{}, "COGNITO_USER_POOL_ID, COGNITO_CLIENT_ID, AWS_REGION"},
		"no client":       {auth.Config{Region: region, UserPoolID: poolID}, "COGNITO_CLIENT_ID"},
		"host as region":  {auth.Config{Region: "x.example/", UserPoolID: poolID, ClientID: clientID}, "AWS_REGION"},
		"path as pool":    {auth.Config{Region: region, UserPoolID: "eu-west-1_a/../b", ClientID: clientID}, "COGNITO_USER_POOL_ID"},
		"another region":  {auth.Config{Region: "eu-west-2", UserPoolID: poolID, ClientID: clientID}, "not in the region"},
		"name of a pool":  {auth.Config{Region: region, UserPoolID: "customers", ClientID: clientID}, "COGNITO_USER_POOL_ID"},
		"two scopes":      {auth.Config{Region: region, UserPoolID: poolID, ClientID: clientID, Scope: "a b"}, "COGNITO_SCOPE"},
		"part of a start": {auth.Config{Region: "eu-west", UserPoolID: poolID, ClientID: clientID}, "not in the region"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := auth.NewCognito(tt.config)
			if v != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("NewCognito = %v, %v, want an error with %q", v, err, tt.want)
			}
		})
	}
}
