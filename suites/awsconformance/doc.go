// Package awsconformance runs the conformance suite on Amazon DynamoDB itself,
// in an account that is meant for tests:
//
//	make conformance-aws PREFIX=ci-main                # says what it would cost
//	make conformance-aws PREFIX=ci-main CONFIRM=yes    # runs
//	make conformance-aws-sweep PREFIX=ci-main          # lists what a killed run left
//	make conformance-aws-sweep PREFIX=ci-main CONFIRM=yes
//
// Credentials and region come from where the AWS SDK looks for them, such as
// AWS_PROFILE and AWS_REGION.
//
// # What it may do
//
// Every request passes a [Guard]. Tables that the suite makes have names that
// begin with the prefix and the run's own mark, and carry a tag with both. The
// guard sends no request about a table whose name begins otherwise, and none
// that writes to, reads or deletes a table that this run has not made. The
// tables are deleted when the run ends, also when it fails or is interrupted.
// After a run that was killed, the sweep deletes the tables with the prefix and
// the tag, and nothing else.
//
// The account needs dynamodb:CreateTable, DescribeTable, UpdateTable,
// DeleteTable, TagResource, ListTagsOfResource, DescribeTimeToLive,
// UpdateTimeToLive, DescribeContinuousBackups, UpdateContinuousBackups and the
// actions on items, all of them on table/PREFIX-* alone, and for the sweep
// dynamodb:ListTables.
//
// # What is not known
//
// No run has met AWS yet. The guard, the estimate, the clean-up and the suite
// under them are tested on the local engine; what only AWS does is assumed from
// its documentation. In particular: global indexes and eventually consistent
// reads may lag there, so the suite waits after each write until they show it,
// and fails after half a minute. And its clock is fixed in the year 2024. So
// DynamoDB may delete some of its items for their expiry, though not before TTL
// is in force, which takes longer than a test.
package awsconformance
