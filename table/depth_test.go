package table_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/table"
)

// caller notes the functions that lead to it when it is decoded.
type caller struct{ functions []string }

func (c *caller) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error {
	counters := make([]uintptr, 200)
	for frames := runtime.CallersFrames(counters[:runtime.Callers(1, counters)]); ; {
		frame, more := frames.Next()
		c.functions = append(c.functions, frame.Function)
		if !more {
			return nil
		}
	}
}

// A reader of the code follows a read from the exported function to the decoder in a few
// steps of the library's own.
func TestDepthOfReads(t *testing.T) {
	t.Parallel()
	type note struct{ Name caller }
	own := func(note note) (n int) {
		decoder := false
		for _, function := range note.Name.functions {
			decoder = decoder || strings.HasSuffix(function, "item.(*Decoder).Decode")
			if decoder && strings.Contains(function, "singletable/singletable/") && !strings.Contains(function, "table_test") {
				n++
			}
		}
		return n
	}
	item := `{"Name":{"S":"Ann"}}`
	respond := func(body string) *table.Table { return fixedResponse{200, []byte(body)}.table(t, "", false) }
	got := expect.Value(table.Get[note](t.Context(), respond(`{"Item":`+item+`}`), user))(t)
	page := expect.Value(table.QueryPage[note](t.Context(), respond(`{"Count":1,"ScannedCount":1,"Items":[`+item+`]}`), table.Query{PK: user.PK}))(t)
	for name, tt := range map[string]struct{ got, most int }{"Get": {own(got), 13}, "QueryPage": {own(page.Items[0]), 20}} {
		if tt.got < 5 || tt.got > tt.most {
			t.Errorf("%s: %d functions lead to the decoder, want at most %d", name, tt.got, tt.most)
		}
	}
}
