package store

import (
	"context"
	"time"

	"github.com/singletable/singletable/keys"
	"github.com/singletable/singletable/repo"
	"github.com/singletable/singletable/table"
)

// MetricPrefix is the prefix of a metric's partition.
const MetricPrefix keys.Prefix = "METRIC"

// Point is one value of a metric. It is stored once, as
// METRIC#<source>#<name> / <time>.
type Point struct {
	Source    string    `dynamodbav:"source"`
	Name      string    `dynamodbav:"name"`
	At        time.Time `dynamodbav:"at"`
	Value     float64   `dynamodbav:"value"`
	ExpiresAt int64     `dynamodbav:"expiresAt,omitempty"` // seconds since 1970; 0: never
}

var pointEntity = repo.Entity[Point]{
	Type: "POINT",
	Key:  PointKey,
}

// PointKey is the key of a point.
func PointKey(p Point) keys.Key {
	return keys.Key{PK: MetricPrefix.PK(p.Source, p.Name), SK: keys.None.SK(keys.Time(p.At))}
}

// Record stores points. A point at the same millisecond of the same metric is
// replaced, so recording again does no harm.
func (s *Store) Record(ctx context.Context, points ...Point) error {
	var ops []table.Op
	for _, p := range points {
		ops = append(ops, s.Points.PutOps(&p)...)
	}
	return s.Table.BatchWrite(ctx, ops...)
}

// PointsQuery asks for the points with from ≤ time < to: sort keys BETWEEN two
// times.
func PointsQuery(source, name string, from, to time.Time) table.Query {
	return table.Query{PK: MetricPrefix.PK(source, name), Range: keys.None.Between(from, to), Scope: source}
}
