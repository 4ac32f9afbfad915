package readmodel_test

import (
	"strings"
	"testing"

	"github.com/singletable/singletable/examples/cqrs/readmodel"
	"github.com/singletable/singletable/examples/internal/check"
)

func TestASecretNamesADatabase(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"postgres://ana@db/records?sslmode=require\n":                                                          "postgres://ana@db/records?sslmode=require",
		`{"username":"ana","password":"a/b@c","host":"db","port":5433,"dbname":"records","engine":"postgres"}`: "postgres://ana:a%2Fb%40c@db:5433/records",
		`{"username":"ana","password":"x","host":"::1"}`:                                                       "postgres://ana:x@[::1]:5432/postgres",
		"hunter2": "",
		"":        "",
		`{"username":"ana","password":"hunter2"}`:                             "",
		"postgres://ana:hunter2@db:port/x":                                    "",
		`{"username":"ana","password":"hunter2","host":"db","port":99999999}`: "",
		`{"username":"ana","password":"hunter2","host":"db","port":true}`:     "",
	} {
		got, err := readmodel.ParseSecret(text)
		check.Equal(t, text, got, want)
		if want == "" && (err == nil || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
