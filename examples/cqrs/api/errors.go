package api

import (
	"errors"
	"net/http"
	"slices"

	"github.com/singletable/singletable/examples/cqrs/core"
	"github.com/singletable/singletable/examples/cqrs/readmodel"
	"github.com/singletable/singletable/examples/internal/auth"
	"github.com/singletable/singletable/examples/internal/httpapi"
	"github.com/singletable/singletable/examples/internal/rest"
	"github.com/singletable/singletable/table"
)

// errNoTenant means that the user of a request belongs to no tenant.
var errNoTenant = errors.New("the token names no tenant")

// errNoKeys means that there are no cursor keys for now.
var errNoKeys = errors.New("there are no cursor keys")

// invalid returns what a client gets to see of an invalid request.
func invalid(err error) *rest.Failure {
	if errors.Is(err, core.ErrInvalid) { // its text is of this program, without keys
		return &rest.Failure{Status: http.StatusBadRequest, Code: "invalid_request", Message: err.Error()}
	}
	return nil
}

// failures are the errors of the service and their statuses.
var failures = slices.Concat([]httpapi.Known{invalid}, auth.Failures(), []httpapi.Known{
	httpapi.On(errNoTenant, http.StatusForbidden, "no_tenant", "the user belongs to no tenant"),
	httpapi.On(core.ErrNoParent, http.StatusConflict, "no_parent", "the parent does not exist"),
	httpapi.On(core.ErrOtherSource, http.StatusConflict, "other_rows", "this id was used for an import of other rows or another file"),
	httpapi.On(core.ErrNoFile, http.StatusNotFound, "no_file", "there is no such file"),
	httpapi.On(core.ErrNotRunning, http.StatusConflict, "not_running", "the task is not running"),
	httpapi.On(core.ErrUsedUp, http.StatusConflict, "used_up", "there are no numbers left"),
	httpapi.On(table.ErrStale, http.StatusConflict, "version_conflict", "the record is at another version; read it again"),
	httpapi.Later(errNoKeys),
	httpapi.Later(readmodel.ErrNotBuilt),
	httpapi.Later(table.ErrConflict),
})

const again = "try again in a moment; repeat a command with the same Idempotency-Key"
