// Package oteltable exports the requests of a table to OpenTelemetry: [Traces]
// and [Metrics] are observers for the Observe option of a table.
//
//	metrics, err := oteltable.Metrics(nil)
//	if err != nil {
//		return err
//	}
//	tbl, err := table.New(client, schema, &table.Options{
//		Observe: telemetry.Join(oteltable.Traces(nil), metrics),
//	})
//
// The names of spans, metrics and attributes are those of version 1.43.0 of the
// semantic conventions for database clients and for DynamoDB; the documentation
// of package telemetry lists them. The access pattern that the context names
// (see [telemetry.WithPattern]) is the query summary, db.query.summary.
package oteltable
