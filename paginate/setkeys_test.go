package paginate_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/singletable/singletable/internal/expect"
	"github.com/singletable/singletable/paginate"
)

// A codec and its view go through a rotation, while others seal and open.
func TestSetKeysRotates(t *testing.T) {
	t.Parallel()
	codec := expect.Value(paginate.New(parseKeys(t, secretA), nil))(t)
	view := codec.Watermarks()
	ofA, markOfA := seal(t, codec, txPosition, scope), seal(t, view, txPosition, scope)

	var others sync.WaitGroup
	end := make(chan struct{})
	for _, c := range []*paginate.Codec{codec, view} {
		others.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
					if _, err := c.Seal(txPosition, scope); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	for _, step := range []struct {
		ring, sealsWith string
		opensA          bool
	}{
		{secretA + "," + secretB, idA, true},
		{secretB + "," + secretA, idB(t), true},
		{secretB, idB(t), false},
	} {
		expect.OK(t, codec.SetKeys(parseKeys(t, step.ring)))
		for c, former := range map[*paginate.Codec]string{codec: ofA, view: markOfA} {
			cursor := seal(t, c, txPosition, scope)
			checkOpens(t, c, cursor, scope, txPosition)
			expect.Equal(t, "key id", keyID(cursor), step.sealsWith)
			if _, err := c.Open(former, scope); (err == nil) != step.opensA {
				t.Errorf("after %d keys, a cursor of the first one: %v", len(parseKeys(t, step.ring)), err)
			}
		}
	}
	close(end)
	others.Wait()
}

func keyID(cursor string) string {
	in, _ := paginate.Inspect(cursor, nil) // without keys it only names the key
	return in.KeyID
}

func idB(tb testing.TB) string {
	tb.Helper()
	return parseKeys(tb, secretB)[0].ID()
}

// What is refused leaves the keys as they are.
func TestSetKeysRefuses(t *testing.T) {
	t.Parallel()
	two := parseKeys(t, secretA+","+secretB)
	codec := expect.Value(paginate.New(two[:1], nil))(t)
	cursor := seal(t, codec, txPosition, scope)
	for name, err := range map[string]error{
		"no keys":   codec.SetKeys(nil),
		"zero key":  codec.SetKeys([]paginate.Key{two[1], {}}),
		"twice":     codec.SetKeys(slices.Repeat(two[1:], 2)),
		"nil codec": (*paginate.Codec)(nil).SetKeys(two),
		"zero":      new(paginate.Codec).SetKeys(two),
		"unsealed":  paginate.Insecure().SetKeys(two),
		"process":   (*paginate.Codec)(nil).Watermarks().SetKeys(two),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	checkOpens(t, codec, cursor, scope, txPosition)
	expect.Equal(t, "key id", keyID(seal(t, codec, txPosition, scope)), idA)
}
