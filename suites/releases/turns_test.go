package releases_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/internal/item"
	"github.com/singletable/singletable/internal/released"
	"github.com/singletable/singletable/suites/releases/program"
	"github.com/singletable/singletable/table"
)
