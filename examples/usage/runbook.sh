# For RUNBOOK.md, in bash, with version 2 of the AWS CLI and the stack's account and region:
#
#   . ./runbook.sh usage-dev
#
# sets the variables of its commands, and has functions, which only read.
STACK=$1
output() { aws cloudformation describe-stacks --stack-name "$STACK" --query "Stacks[0].Outputs[?OutputKey=='$1'].OutputValue" --output text; }
QUEUE=$(output QueueUrl)
DEAD=$(output DeadLettersUrl)
DEAD_ARN=$(output DeadLettersArn)
COUNT=$(output CountArn)
QUERY=$(output QueryArn)
MAPPING=$(aws lambda list-event-source-mappings --function-name "$COUNT" --query 'EventSourceMappings[0].UUID' --output text)
LOGS=$(output CountLogGroup)
QUERY_LOGS=$(output QueryLogGroup)
TABLE=$(output TableName)

# logged prints the lines of the last 14 days in a log group that a pattern matches.
logged() {
	aws logs filter-log-events --log-group-name "$1" --start-time $((($(date +%s) - 14 * 86400) * 1000)) --filter-pattern "$2" --query 'events[].message' --output text
}

# delivered prints the lines about a message, dropped those about messages that were dropped, and failed
# those about invocations that failed.
delivered() { logged "$LOGS" "{ \$.id = \"$1\" }"; }
dropped() { logged "$LOGS" '{ $.msg = "message dropped" }'; }
failed() {
	logged "$LOGS" '{ $.level = "ERROR" && $.msg != "message dropped" }'
	logged "$QUERY_LOGS" '{ $.level = "ERROR" }'
	logged "$LOGS" '"Task timed out"'
}

# queued prints how many messages a queue has, those in flight included.
queued() {
	aws sqs get-queue-attributes --queue-url "$1" --attribute-names ApproximateNumberOfMessages ApproximateNumberOfMessagesNotVisible \
		--query 'sum(map(&to_number(@), values(Attributes)))'
}

# record prints the record that a message was counted: sqs or producer, its workspace, and its id there.
record() { aws dynamodb get-item --table-name "$TABLE" --key "{\"pk\":{\"S\":\"IDE#$1:$2#$3\"},\"sk\":{\"S\":\"METADATA\"}}"; }

# ask asks the function for the usage of a question.
ask() { aws lambda invoke --function-name "$QUERY" --cli-binary-format raw-in-base64-out --payload "$1" /dev/stdout; }

# throttled prints how often the function that counts was throttled in the last three hours, and the
# account's quota.
throttled() {
	aws cloudwatch get-metric-statistics --namespace AWS/Lambda --metric-name Throttles --statistics Sum --period 300 \
		--dimensions "Name=FunctionName,Value=${COUNT##*:}" --start-time $(($(date +%s) - 3 * 3600)) --end-time "$(date +%s)"
	aws lambda get-account-settings --query AccountLimit
}

# hottest prints the keys that were throttled most in the last hour, while Contributor Insights is on.
hottest() {
	local rule
	rule=$(aws dynamodb describe-contributor-insights --table-name "$TABLE" --query "ContributorInsightsRuleList[?contains(@, '-PKT-')] | [0]" --output text)
	aws cloudwatch get-insight-rule-report --rule-name "$rule" --period 300 --max-contributor-count 10 \
		--start-time $(($(date +%s) - 3600)) --end-time "$(date +%s)"
}
