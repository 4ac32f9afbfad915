#!/usr/bin/env bash
# Does on AWS what template.yaml cannot. It needs Go, version 2 of the AWS CLI, the AWS SAM CLI and openssl.
#
#   bash deploy.sh stack NAME=VALUE…  deploys with these parameters of the template. Others keep their values
#   bash deploy.sh again NAME=VALUE…  the same, with the table that a deleted stack has left
#   bash deploy.sh output NAME        prints an output of the stack, such as Url
#   bash deploy.sh mappings STATE     stops or starts the functions of the stream: off or on
#   bash deploy.sh keys STEP          changes the key of the shop: add, use and drop, or replace; show prints the secret
set -euo pipefail
cd "$(dirname "$0")"

stack=shop
secret=shop-key

fail() {
	echo "deploy.sh: $1" >&2
	exit 1
}

output() {
	aws cloudformation describe-stacks --stack-name "$stack" --query "Stacks[0].Outputs[?OutputKey=='$1'].OutputValue" --output text
}

# stack creates the secret if there is none, builds the program and deploys it.
stack() {
	local arn
	arn=$(aws secretsmanager describe-secret --secret-id "$secret" --query ARN --output text 2>/dev/null) ||
		arn=$(openssl rand -base64 32 | aws secretsmanager create-secret --name "$secret" --secret-string file:///dev/stdin --query ARN --output text)
	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go build -tags lambda.norpc -o build/bootstrap ./bootstrap
	sam deploy --stack-name "$stack" --resolve-s3 --capabilities CAPABILITY_IAM --parameter-overrides KeySecretArn="$arn" "$@"
}

again() {
	local stream
	stream=$(aws dynamodb describe-table --table-name Shop --query Table.LatestStreamArn --output text)
	stack TableStreamArn="$stream" "$@"
}

mappings() {
	local switch name mapping
	case $1 in
	off) switch=--no-enabled ;;
	on) switch=--enabled ;;
	*) fail "mappings are on or off" ;;
	esac
	for name in AuditMapping NotifyMapping; do
		mapping=$(output "$name")
		aws lambda update-event-source-mapping --uuid "$mapping" "$switch"
	done
}

# keys changes the secret: keys with commas between, of which the first signs and seals, and all are accepted.
keys() {
	local have first second to
	have=$(aws secretsmanager get-secret-value --secret-id "$secret" --query SecretString --output text)
	if [ "$1" = show ]; then
		echo "$have"
		return
	fi
	first=${have%%,*} second=${have#*,}
	case "$1 ${have//[^,]/}" in
	"add ") to=$first,$(openssl rand -base64 32) ;;
	"use ,") to=$second,$first ;;
	"drop ,") to=$first ;;
	replace*) to=$(openssl rand -base64 32) ;;
	*) fail "no step $1 with the keys that the secret has: add takes one key, use and drop take two" ;;
	esac
	printf %s "$to" | aws secretsmanager put-secret-value --secret-id "$secret" --secret-string file:///dev/stdin >/dev/null
	case $1 in
	add) echo "Each process learns to accept the new key. Wait an hour, then: bash deploy.sh keys use" ;;
	use) echo "The new key signs and seals. Wait three days and an hour, for the last cursor of the old one, then: bash deploy.sh keys drop" ;;
	esac
}

case "${1-} $#" in
"stack "* | "again "* | "output 2" | "mappings 2" | "keys 2") "$@" ;;
*) fail "see its first lines for the commands" ;;
esac
