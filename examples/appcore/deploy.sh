#!/usr/bin/env bash
# Does on AWS what template.yaml cannot. It needs Go, version 2 of the AWS CLI, the AWS SAM CLI and openssl.
#
#   bash deploy.sh stack NAME=VALUE…  deploys with these parameters of the template. Others keep their values
#   bash deploy.sh again NAME=VALUE…  the same, with the table and the user pool that a deleted stack has left
#   bash deploy.sh output NAME        prints an output of the stack, such as Url
#   bash deploy.sh user EMAIL GROUP   creates a user, and prints an access token, which is good for an hour
#   bash deploy.sh keys STEP          changes the cursor keys: add, use and drop, or replace
set -euo pipefail
cd "$(dirname "$0")"

stack=appcore
secret=appcore/cursor-keys

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
	GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go build -tags lambda.norpc -trimpath -ldflags='-s -w' -o build/bootstrap ./lambda/bootstrap
	sam deploy --stack-name "$stack" --resolve-s3 --capabilities CAPABILITY_IAM --parameter-overrides CursorKeysSecretArn="$arn" "$@"
}

again() {
	local pool client
	pool=$(aws cognito-idp list-user-pools --max-results 60 --query "UserPools[?Name=='$stack'].Id" --output text)
	[[ $pool =~ ^[^[:space:]]+$ ]] || fail "none or several user pools are named $stack: pass UserPoolId and ClientId to deploy.sh stack"
	client=$(aws cognito-idp list-user-pool-clients --user-pool-id "$pool" --query "UserPoolClients[].ClientId" --output text)
	stack TableExists=true UserPoolId="$pool" ClientId="$client" "$@"
}

user() {
	local pool client password
	pool=$(output UserPoolId)
	client=$(output ClientId)
	password=Aa1-$(openssl rand -hex 16)
	aws cognito-idp admin-create-user --user-pool-id "$pool" --username "$1" --message-action SUPPRESS --user-attributes Name=email,Value="$1" Name=email_verified,Value=true >/dev/null
	aws cognito-idp admin-set-user-password --user-pool-id "$pool" --username "$1" --password "$password" --permanent
	aws cognito-idp admin-add-user-to-group --user-pool-id "$pool" --username "$1" --group-name "$2"
	echo "The password of $1 is $password" >&2
	aws cognito-idp admin-initiate-auth --user-pool-id "$pool" --client-id "$client" --auth-flow ADMIN_USER_PASSWORD_AUTH --auth-parameters USERNAME="$1",PASSWORD="$password" --query AuthenticationResult.AccessToken --output text
}

# keys changes the secret: keys with commas between, of which the first seals and all open.
keys() {
	local have first second to
	have=$(aws secretsmanager get-secret-value --secret-id "$secret" --query SecretString --output text)
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
	add) echo "Each process learns to open what the new key seals. Wait an hour, then: bash deploy.sh keys use" ;;
	use) echo "The new key seals. Wait three days and an hour, for the last cursor of the old one, then: bash deploy.sh keys drop" ;;
	esac
}

case "${1-} $#" in
"stack "* | "again "* | "output 2" | "user 3" | "keys 2") "$@" ;;
*) fail "see its first lines for the commands" ;;
esac
