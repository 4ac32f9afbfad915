package paginate_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/singletable/singletable/paginate"
)

func TestExpiry(t *testing.T) {
	t.Parallel()
	key := paginate.NewKey()
	at := func(now time.Time, ttl time.Duration) *paginate.Codec {
		return newCodec(t, &paginate.Options{TTL: ttl, Now: func() time.Time { return now }}, key)
	}
	tests := map[string]struct {
		issued time.Duration // after epoch
		now    time.Duration // after epoch
		ttl    time.Duration
		want   paginate.Reason
	}{
		"at once":                 {now: 0},
		"last instant":            {now: 72*time.Hour - 1},
		"at the boundary":         {now: 72 * time.Hour, want: paginate.Expired},
		"years later":             {now: 30 * 365 * 24 * time.Hour, want: paginate.Expired},
		"own TTL, last instant":   {ttl: time.Second, now: time.Second - 1},
		"own TTL, boundary":       {ttl: time.Second, now: time.Second, want: paginate.Expired},
		"part of a second is cut": {ttl: time.Second, issued: time.Second - 1, now: time.Second, want: paginate.Expired},
		"skew that is forgiven":   {now: -5 * time.Minute},
		"skew that is not":        {now: -5*time.Minute - 1, want: paginate.Future},
		"years too early":         {now: -30 * 365 * 24 * time.Hour, want: paginate.Future},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cursor := seal(t, at(epoch.Add(tt.issued), tt.ttl), txPosition, scope)
			c := at(epoch.Add(tt.now), tt.ttl)
			if tt.want == "" {
				checkOpens(t, c, cursor, scope, txPosition)
			} else {
				checkRefused(t, c, cursor, scope, tt.want)
			}
		})
	}
}

func TestInsecureExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // Its clock stands until everything waits.
		c := paginate.Insecure()
		cursor := seal(t, c, txPosition, scope)
		ctx, cancel := context.WithTimeout(t.Context(), 72*time.Hour-1)
		defer cancel()
		<-ctx.Done()
		checkOpens(t, c, cursor, scope, txPosition)

		ctx, cancel = context.WithTimeout(t.Context(), 1)
		defer cancel()
		<-ctx.Done()
		checkRefused(t, c, cursor, scope, paginate.Expired)
	})
}

func TestClockOutsideTheFormat(t *testing.T) {
	t.Parallel()
	for _, now := range []time.Time{{}, time.Unix(-1, 0), time.Unix(1<<32, 0)} {
		c := newCodec(t, &paginate.Options{Now: func() time.Time { return now }})
		if cursor, err := c.Seal(txPosition, scope); cursor != "" || err == nil {
			t.Errorf("at %v: Seal = %q, %v", now, cursor, err)
		}
	}
	for _, now := range []time.Time{time.Unix(0, 0), time.Unix(1<<32-1, 0)} {
		c := newCodec(t, &paginate.Options{Now: func() time.Time { return now }})
		checkOpens(t, c, seal(t, c, txPosition, scope), scope, txPosition)
	}
}
